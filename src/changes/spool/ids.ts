/** The module number of changes that belong to no module. */
export const noModule = '000';

/** The first three digits of `NNN-NN_slug`; null for an id of another form. */
export const moduleOf = (changeId: string): string | null => /^(\d{3})-\d{2}_/.exec(changeId)?.[1] ?? null;

/** The number of a change within its module; null if it belongs to another one. */
export const changeNumber = (changeId: string, moduleId: string): number | null => {
  const match = /^(\d{3})-(\d{2})_/.exec(changeId);
  return match && match[1] === moduleId ? Number(match[2]) : null;
};

export const isSlug = (text: string): boolean => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text) && text.length <= 80;

/** A short slug from the first words of a sentence, always the same for the same sentence. */
export const slugOf = (sentence: string): string => {
  const words = (toSlug(sentence.slice(0, 400)) ?? '').split('-');
  let slug = '';
  for (const word of words) {
    const longer = slug === '' ? word : `${slug}-${word}`;
    if (longer.length > maxSentenceSlug) break;
    slug = longer;
  }
  return slug || words[0]!.slice(0, maxSentenceSlug) || 'change';
};

const maxSentenceSlug = 40;

export const toSlug = (text: string): string | null => {
  const slug = text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 80)
    .replaceAll(/^-+|(?<!-)-+$/g, '');
  return isSlug(slug) ? slug : null;
};
