import { looksLikeId } from '../ids.ts';
import { shortHash } from '../short-hash.ts';

/*
 * The change of a task file has no name: its ID is derived from its path, so that a path can be checked
 * against an ID.
 */

/** The IDs that a file can have, by preference: `docs-plans-x`, and one with a hash, which no other file has. */
export const idsOf = (path: string): readonly [string, string] => {
  const slug = slugOf(path);
  return [slug, `${slug}-${shortHash(path)}`];
};

/** Characters. It is the name of a folder and part of the name of a branch. */
const maxSlug = 60;

const slugOf = (path: string): string => {
  const words = path
    .replace(/\.[^./]*$/, '')
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\u0300-\u036f]/g, '')
    .match(/[a-z0-9]+/g);
  const slug = (words ?? []).join('-').slice(-maxSlug).replace(/^-/, '');
  // `002-01` could be the beginning of another ID.
  return slug === '' || looksLikeId(slug) ? `file-${slug}`.replace(/-$/, '') : slug;
};
