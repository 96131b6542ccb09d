/** A name that cannot be mistaken for a flag and has no control characters. */
export const isName = (text: string): boolean => text !== '' && !/^\s*-/.test(text) && !hasControls(text);

/** The rule for such a name, for messages. */
export const nameRule = 'must be a name that does not start with "-"';

export const hasControls = (text: string): boolean => /[\u0000-\u001f\u007f]/.test(text);

/** No argument and no variable of a process can contain this character. */
export const hasNul = (text: string): boolean => text.includes('\0');
