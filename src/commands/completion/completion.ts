import { userError } from '../../errors.ts';
import type { Invocation } from '../registry/command.ts';

/** Each asks the hidden command `spool __complete` what can follow, so that it never has to be installed again. */
const scripts = {
  bash: `# Completion of spool in bash. To install: eval "$(spool completion bash)" in ~/.bashrc
_spool() {
  local line value
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ':files' ]; then
      compopt -o default 2>/dev/null
      return
    fi
    value=\${line%%$'\\t'*}
    COMPREPLY+=("$value")
    case $value in *[:=,]) compopt -o nospace 2>/dev/null ;; esac
  done < <(spool __complete bash "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _spool spool
`,
  zsh: `#compdef spool
# Completion of spool in zsh. To install: eval "$(spool completion zsh)" in ~/.zshrc, after compinit
_spool() {
  local line value
  local -a lines candidates
  lines=("\${(@f)$(spool __complete zsh "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  [[ $PREFIX == --*=* ]] && compset -P '--*='
  for line in "\${lines[@]}"; do
    [[ $line == ':files' ]] && { _files; return }
    value=\${line%%$'\\t'*}
    [[ -n $value ]] && candidates+=("\${value//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( $#candidates )) && _describe -V 'spool' candidates
}
if [[ $funcstack[1] == _spool ]]; then _spool "$@"; elif (( $+functions[compdef] )); then compdef _spool spool; fi
`,
  fish: `# Completion of spool in fish. To install: spool completion fish > ~/.config/fish/completions/spool.fish
function __spool_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (spool __complete fish $words[2..-1] 2>/dev/null)
    if test "$lines[1]" = ':files'
        __fish_complete_path (commandline -ct)
    else
        string join -- \\n $lines
    end
end
complete -c spool -e
complete -c spool -f -a '(__spool_complete)'
`,
} as const;

export const run = async ({ args: [shell = ''], terminal }: Invocation): Promise<number> => {
  if (!Object.hasOwn(scripts, shell)) throw userError('bad-value', 'shell', 'must be bash, zsh or fish', shell);
  terminal.printResult(scripts[shell as keyof typeof scripts]);
  return 0;
};
