/** Shell snippets for scripted agents. */

export const promise = `echo '<promise>COMPLETE</promise>'`;

export const says = (words: string) => `echo '${words}'`;

export const fails = (code: number) => `exit ${code}`;

/** Prints that it waits, and continues once the file exists. */
export const waitsFor = (file: string) => `echo 'waiting for ${file}'; until [ -e '${file}' ]; do sleep 0.01; done`;
