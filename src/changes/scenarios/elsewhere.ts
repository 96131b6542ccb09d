import type { Project } from '../../store/project.ts';
import { attempt } from '../problems.ts';
import { mainSpecFiles, readSpec } from '../spec-files.ts';
import { activeChanges, mainSpecFolders } from '../sources.ts';
import { scenariosInSpec } from './in-specs.ts';
import { scenariosOf, toScenarios } from './scenarios.ts';

/**
 * The ids of the scenarios of all other active changes and of the main specs, which tests may name too. What cannot be
 * read has none.
 */
export const scenarioIdsElsewhere = async (project: Project, change: string): Promise<ReadonlySet<string>> => {
  const { root } = project;
  const others = (await activeChanges(project)).flatMap((each) => (each.id === change ? [] : (each.change ?? [])));
  const folders = await mainSpecFolders(project);
  const inChanges = others.flatMap((other) => orNone(() => scenariosOf(other, root).map(({ id }) => id)));
  const inSpecs = folders.flatMap((folder) =>
    orNone(() => mainSpecFiles(root, folder)).flatMap((path) =>
      orNone(() => {
        const capability = path.slice(folder.length + 1).replace(/\/spec\.md$/, '');
        const criteria = scenariosInSpec({ capability, path, text: readSpec(root, path) ?? '' });
        return toScenarios(criteria, []).map(({ id }) => id);
      }),
    ),
  );
  return new Set([...inChanges, ...inSpecs]);
};

const orNone = <Found>(read: () => Found[]): Found[] => {
  const found = attempt(read);
  return found instanceof Error ? [] : found;
};
