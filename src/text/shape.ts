import { parseJsonText } from './json.ts';

/** Validates unknown JSON. Returns undefined, which JSON cannot contain, if it does not have the shape. */
export type Shape<Type> = (value: unknown) => Type | undefined;

/** Parses JSON; returns undefined if it is invalid. */
export const parseJson = (text: string): unknown => {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
};

/** Validates a field of an object. `wrong` invalidates the object, undefined omits the field. */
type Field<Type> = (value: unknown) => Type | typeof wrong | undefined;

const wrong = Symbol('wrong');

/** A validator for each field: a missing one does not compile. */
export type Fields<Type> = { readonly [Name in keyof Type]-?: Field<Exclude<Type[Name], undefined>> };

/** The object is invalid without it. */
export const required =
  <Type>(shape: Shape<Type>): Field<Type> =>
  (value) => {
    const read = shape(value);
    return read === undefined ? wrong : read;
  };

/** The field may be missing, as in a file of an older version, but not invalid. */
export const withDefault =
  <Type>(fallback: Type, shape: Shape<Type>): Field<Type> =>
  (value) =>
    value === undefined ? fallback : required(shape)(value);

/** An invalid value is replaced by `fallback`. */
export const withFallback =
  <Type>(fallback: Type, shape: Shape<Type>): Field<Type> =>
  (value) => {
    const read = shape(value);
    return read === undefined ? fallback : read;
  };

/** A field with an invalid value is omitted. */
export const droppedIfInvalid = <Type>(shape: Shape<Type>): Field<Type> => shape;

/** Unknown fields are dropped. */
export const object = <Type extends object>(fields: Fields<Type>): Shape<Type> => {
  const rows = Object.entries<Field<unknown>>(fields);
  return (value) => {
    if (!isObject(value)) return undefined;
    const result: Record<string, unknown> = {};
    for (const [name, field] of rows) {
      const read = field(Object.hasOwn(value, name) ? value[name] : undefined);
      if (read === wrong) return undefined;
      if (read !== undefined) result[name] = read;
    }
    return result as Type;
  };
};

export const text: Shape<string> = (value) => (typeof value === 'string' ? value : undefined);
export const boolean: Shape<boolean> = (value) => (typeof value === 'boolean' ? value : undefined);
export const number: Shape<number> = (value) => (Number.isFinite(value) ? (value as number) : undefined);

/** A non-negative integer. */
export const count: Shape<number> = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;

/** Milliseconds since 1970, within the range of Date. */
export const epochMs: Shape<number> = (value) =>
  Math.abs(number(value) ?? Infinity) <= 8.64e15 ? number(value) : undefined;

/** A date and time as a string. */
export const isoTime: Shape<string> = (value) =>
  Number.isNaN(Date.parse(text(value) ?? '')) ? undefined : text(value);

export const matching =
  (pattern: RegExp): Shape<string> =>
  (value) =>
    pattern.test(text(value) ?? '') ? text(value) : undefined;

export const oneOf =
  <const Values extends readonly (string | number)[]>(values: Values): Shape<Values[number]> =>
  (value) =>
    values.find((known) => known === value);

export const orNull =
  <Type>(shape: Shape<Type>): Shape<Type | null> =>
  (value) =>
    value === null ? null : shape(value);

/** A list whose items all have the shape. */
export const listOf =
  <Type>(shape: Shape<Type>): Shape<readonly Type[]> =>
  (value) => {
    const items = validItems(shape)(value);
    return Array.isArray(value) && items?.length === value.length ? items : undefined;
  };

/** The items of a list that have the shape. */
export const validItems =
  <Type>(shape: Shape<Type>): Shape<readonly Type[]> =>
  (value) =>
    Array.isArray(value) ? value.map(shape).filter((item) => item !== undefined) : undefined;

/** A list of exactly two items. */
export const pairOf =
  <First, Second>(first: Shape<First>, second: Shape<Second>): Shape<readonly [First, Second]> =>
  (value) => {
    if (!Array.isArray(value) || value.length !== 2) return undefined;
    const [one, two] = [first(value[0]), second(value[1])];
    return one === undefined || two === undefined ? undefined : [one, two];
  };

/** The entries of an object whose values have the shape. */
export const mapOf =
  <Type>(shape: Shape<Type>): Shape<Readonly<Record<string, Type>>> =>
  (value) =>
    isObject(value)
      ? Object.fromEntries(
          Object.entries(value).flatMap(([name, item]) => {
            const read = shape(item);
            return read === undefined ? [] : [[name, read]];
          }),
        )
      : undefined;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
