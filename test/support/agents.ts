/** Pieces of shell for scripted agents. */

export const promise = `echo '<promise>COMPLETE</promise>'`;

export const says = (words: string) => `echo '${words}'`;

export const fails = (code: number) => `exit ${code}`;

/** Says that it waits, and goes on when the file is there. */
export const waitsFor = (file: string) => `echo 'waiting for ${file}'; until [ -e '${file}' ]; do sleep 0.01; done`;
