import { configKeys, type Suggestions } from '../../config/flags.ts';

/** A word that the shell can complete, with its description. */
export interface Candidate {
  readonly value: string;
  readonly help?: string;
}

/** Where the user pressed Tab. */
export interface Surroundings {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What has to be looked up. */
type LookUp = Exclude<Suggestions, readonly string[] | 'files'>;

/** Looks up what can stand at the cursor of a shell. */
export const lookUpSuggestions = async (
  what: LookUp,
  typed: string,
  surroundings: Surroundings,
): Promise<Candidate[]> => {
  switch (what) {
    case 'changes':
      return changes(surroundings);
    case 'modules':
      return modules(surroundings);
    case 'changes and modules':
      return [...(await changes(surroundings)), ...(await modules(surroundings))];
    case 'sources':
      return (await import('../../changes/folders.ts')).sourceNames.map((value) => ({ value }));
    case 'agents':
      return agents(typed, surroundings);
    case 'keys':
      return [...configKeys, 'worktree.setup', 'env.pass', 'permissions.allow', 'permissions.deny'].map((value) => ({
        value,
      }));
  }
};

const projectAt = async (cwd: string) => (await import('../../store/project.ts')).findProject(cwd);

const changes = async ({ cwd }: Surroundings): Promise<Candidate[]> => {
  const { listChanges } = await import('../../changes/sources.ts');
  return (await listChanges(await projectAt(cwd))).map((value) => ({ value, help: 'change' }));
};

const modules = async ({ cwd }: Surroundings): Promise<Candidate[]> => {
  const { listModules } = await import('../../changes/modules.ts');
  return listModules(await projectAt(cwd)).map((value) => ({ value, help: 'module' }));
};

/** The agents that can be run here, or all of them if none can. In a list, those after the last comma. */
const agents = async (typed: string, { cwd, env }: Surroundings): Promise<Candidate[]> => {
  const [{ harnesses }, { agentProgram }, { findProjectIfAny }, { readConfig, noConfig }] = await Promise.all([
    import('../../harness/registry.ts'),
    import('../../harness/program.ts'),
    import('../../store/project.ts'),
    import('../../config/file.ts'),
  ]);
  const project = findProjectIfAny(cwd);
  const { customHarnesses } = project ? await readConfig(project).catch(() => noConfig) : noConfig;
  const all = [...harnesses, ...customHarnesses];
  const installed = all.filter((harness) => agentProgram(harness, { env, cwds: [cwd] }) !== null);
  const earlier = typed.slice(0, typed.lastIndexOf(',') + 1);
  return (installed.length > 0 ? installed : all).map(({ name, title }) => ({ value: earlier + name, help: title }));
};
