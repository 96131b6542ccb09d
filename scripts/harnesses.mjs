// The registry of harnesses, for scripts that run real agents.
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @returns {Promise<any[]>} */
export const loadHarnesses = async () => {
  const { output } = await build({
    cwd: root,
    platform: 'node',
    input: 'src/harness/registry.ts',
    write: false,
    output: { codeSplitting: false },
  });
  const [entry] = output;
  const source = Buffer.from(entry.code).toString('base64');
  return (await import(`data:text/javascript;base64,${source}`)).harnesses;
};
