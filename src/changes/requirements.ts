import { textInside } from '../files/inside.ts';
import type { Change } from './source.ts';

/** Requirements as `<capability>: <requirement>`, by a key that ignores case and white space. */
export type Claims = ReadonlyMap<string, string>;

/** The requirements in the specs of a change. */
export const claimsOf = (change: Change, root: string): Claims => {
  const specs = change.documents(root).filter(({ kind, name }) => kind === 'spec' && name.endsWith('.md'));
  const claims = specs.flatMap(({ path, name }) => {
    const text = textInside(root, path) ?? '';
    const capability = name.replace(/(?:^|\/)spec\.md$/, '');
    return [...text.matchAll(heading)].map(([, title]) => `${capability}: ${title!.trimEnd()}`);
  });
  return new Map(claims.map((claim) => [keyOf(claim), claim]));
};

const heading = /^###[ \t]+Requirement:[ \t]*(\S.*)$/gim;

const keyOf = (claim: string) => claim.normalize('NFC').toLowerCase().replaceAll(/\s+/g, ' ');
