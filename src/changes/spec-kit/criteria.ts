import { acceptanceCriteria } from '../scenarios/acceptance-lists.ts';
import type { Criterion } from '../scenarios/criterion.ts';
import { givenPart, slugOf } from '../scenarios/slug.ts';

/** The acceptance scenarios of the user stories in spec.md. The second one of `### User Story 1` is `us1.2`. */
export const specKitCriteria = (text: string, { name, path }: { name: string; path: string }): Criterion[] =>
  acceptanceCriteria(text).map(({ heading, id, number, title, text: own, line, verify }) => {
    const story = /^User Story\s+(\d+)/i.exec(heading ?? '')?.[1] ?? null;
    const above = story === null ? (heading === null ? [] : [slugOf(heading)]) : [`us${story}`];
    const parts =
      id !== null
        ? [givenPart(id)]
        : story !== null && number !== null
          ? [`us${story}.${number}`]
          : [...above, number ?? slugOf(title)];
    return {
      parts: [slugOf(name), ...parts],
      title,
      requirement: heading,
      text: own,
      path,
      line,
      verify,
      names: story === null ? [] : [`US${story}`, `User Story ${story}`],
    };
  });
