import { acceptanceCriteria } from '../scenarios/acceptance-lists.ts';
import type { Criterion } from '../scenarios/criterion.ts';
import { slugOf } from '../scenarios/slug.ts';

/**
 * The numbered criteria of requirements.md, or of what a bugfix has to achieve, and to preserve, in bugfix.md. The
 * criterion 2 of `### Requirement 1` is `1.2`.
 */
export const kiroCriteria = (text: string, { name, path }: { name: string; path: string }): Criterion[] =>
  acceptanceCriteria(text, (title) => /^(?:Expected|Unchanged) Behaviou?r\b/i.test(title)).map((each) => {
    const { heading, id, number, title, line, verify } = each;
    const requirement = /^Requirement\s+(\d+(?:\.\d+)*)/i.exec(heading ?? '')?.[1] ?? null;
    const own = number === null || number.includes('.') || requirement === null ? number : `${requirement}.${number}`;
    const above = requirement === null ? (own?.includes('.') || heading === null ? [] : [slugOf(heading)]) : [];
    const last = own ?? id ?? (requirement === null ? slugOf(title) : `${requirement}/${slugOf(title)}`);
    return {
      parts: [slugOf(name), ...above, last],
      title,
      requirement: heading,
      text: each.text,
      path,
      line,
      verify,
      names: [...(own === null ? [] : [own]), ...(requirement === null ? [] : [requirement])],
    };
  });
