import { partKey } from './parts.ts';

/** In the order in which a test runner looks for them; each entry lists alternative files, or parts of files. */
type Configs = readonly (readonly string[])[];

const script = (name: string) => ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map((ending) => `${name}.${ending}`);
const inPackage = (name: string) => [partKey('package.json', name)];

const jest: Configs = [[...script('jest.config'), 'jest.config.json', ...inPackage('jest')]];
const pytest: Configs = [
  ['pytest.ini', '.pytest.ini'],
  [partKey('pyproject.toml', '[tool.pytest')],
  [partKey('tox.ini', '[pytest')],
  [partKey('setup.cfg', '[tool:pytest')],
];
const cargo: Configs = [['.cargo/config.toml', '.cargo/config']];

/** The configuration that can make a test runner pass, by program name. */
export const runners: Readonly<Record<string, Configs>> = {
  vitest: [[...script('vitest.config'), ...script('vitest.workspace')], script('vite.config')],
  jest,
  'react-scripts': jest,
  mocha: [
    ['js', 'cjs', 'mjs', 'json', 'jsonc', 'yml', 'yaml'].map((ending) => `.mocharc.${ending}`),
    inPackage('mocha'),
  ],
  ava: [[...script('ava.config'), ...inPackage('ava')]],
  tap: [['.taprc', ...inPackage('tap')]],
  karma: [[...script('karma.conf')]],
  playwright: [script('playwright.config')],
  cypress: [script('cypress.config')],
  wdio: [script('wdio.conf')],
  wtr: [script('web-test-runner.config')],
  'web-test-runner': [script('web-test-runner.config')],
  c8: [['.c8rc', '.c8rc.json', '.nycrc', '.nycrc.json', ...inPackage('c8')]],
  nyc: [['.nycrc', '.nycrc.json', '.nycrc.yml', 'nyc.config.js', ...inPackage('nyc')]],
  pytest,
  'py.test': pytest,
  coverage: [['.coveragerc'], [partKey('pyproject.toml', '[tool.coverage')]],
  tox: [['tox.ini'], [partKey('pyproject.toml', '[tool.tox')]],
  nox: [['noxfile.py']],
  cargo,
  'cargo-nextest': [...cargo, ['.config/nextest.toml']],
  rspec: [['.rspec']],
  rake: [['Rakefile', 'rakefile', 'Rakefile.rb']],
  phpunit: [['phpunit.xml'], ['phpunit.xml.dist', 'phpunit.dist.xml']],
  pest: [['phpunit.xml'], ['phpunit.xml.dist', 'phpunit.dist.xml']],
  task: [['Taskfile.yml', 'Taskfile.yaml', 'Taskfile.dist.yml']],
  invoke: [['tasks.py']],
  poe: [[partKey('pyproject.toml', '[tool.poe')]],
  turbo: [['turbo.json', 'turbo.jsonc']],
  nx: [['nx.json']],
  lerna: [['lerna.json']],
  'bun test': [['bunfig.toml']],
  'deno test': [[partKey('deno.json', 'test'), partKey('deno.jsonc', 'test')]],
};
