import { once } from 'node:events';
import { userError } from '../../errors.ts';
import { environmentIn } from '../../process/environment.ts';
import { currentScope } from '../../process/scope.ts';
import { spawn } from '../../process/spawn.ts';
import { toUtf8 } from '../paths.ts';
import { watchBlocked, whyBlocked } from './blocked.ts';
import { git, type GitArguments } from './git.ts';
import { inert, noFetch, withoutForeign } from './inert.ts';
import { safePager } from './pager.ts';
import { gitProgram, outsideEnvironment } from './program.ts';
import { requireRecentGit } from './version.ts';

/** Runs git on the terminal, with colors and the pager of the user. Returns its exit code. */
export const showGit = async (args: GitArguments, cwd: string): Promise<number> => {
  await requireRecentGit(cwd);
  const pager = process.stdout.isTTY ? { GIT_PAGER: safePager(await userPager(cwd)) } : {};
  const env = { ...withoutForeign(currentScope().env), ...noFetch, ...pager };
  const child = spawn(gitProgram(cwd), inert(args, { hooks: false, config: [`pager.${args[0]}=true`] }), {
    cwd,
    env: environmentIn(cwd, outsideEnvironment(env, cwd)),
    stdio: ['inherit', 'inherit', 'inherit'],
  });
  const unwatchBlocked = watchBlocked(cwd, () => void child.kill());
  const [code] = (await once(child, 'exit').finally(unwatchBlocked)) as [number | null];
  const why = code === null ? whyBlocked(cwd) : null;
  if (why !== null) throw userError('git-blocked', why);
  return code ?? 1;
};

/** Returns the pager of the user, never one that the repository names; empty without one. */
const userPager = async (cwd: string): Promise<string> => {
  const { GIT_PAGER: asked, PAGER: usual = 'less' } = currentScope().env;
  if (asked !== undefined) return asked;
  const { code, stdout } = await git(['config', '--list', '-z', '--show-scope'], { cwd });
  // git before 2.26 does not know --show-scope.
  if (code !== 0) return usual;
  const fields = stdout.split('\0');
  let own = usual;
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, value] = /^(?:core\.pager|pager\.diff)\n(.*)$/s.exec(fields[at + 1]!) ?? [];
    if (value === undefined || fields[at] === 'local' || fields[at] === 'worktree') continue;
    if (/^(?:false|no|off|0)$/i.test(value)) own = '';
    else if (!/^(?:true|yes|on|\d*)$/i.test(value)) own = toUtf8(value);
  }
  return own;
};
