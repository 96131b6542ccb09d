import { parseJsonText } from './json.ts';

/** Validates unknown JSON. Returns undefined, which JSON cannot contain, if it does not have the shape. */
export interface Shape<Type> {
  (value: unknown): Type | undefined;
  readonly schema: Schema;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Returns the JSON schema of what Spool writes. Named shapes are added to `definitions`. */
export type Schema = (definitions: Map<string, JsonSchema>) => JsonSchema;

/** A shape from a function and the schema of what it accepts. */
export const shape = <Type>(
  validate: (value: unknown) => Type | undefined,
  schema: JsonSchema | Schema,
): Shape<Type> => {
  const checked = (value: unknown) => validate(value);
  checked.schema = typeof schema === 'function' ? schema : () => schema;
  return checked;
};

/** Gives a shape a name in the schema. */
export const named = <Type>(name: string, unnamed: Shape<Type>): Shape<Type> =>
  shape(unnamed, (definitions) => {
    if (!definitions.has(name)) definitions.set(name, unnamed.schema(definitions));
    return { $ref: `#/definitions/${name}` };
  });

/** Parses JSON; returns undefined if it is invalid. */
export const parseJson = (text: string): unknown => {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
};

/** Validates a field of an object. `wrong` invalidates the object, undefined omits the field. */
interface Field<Type> {
  (value: unknown): Type | typeof wrong | undefined;
  readonly schema: Schema;
  /** Spool writes it always. */
  readonly isWritten: boolean;
}

const wrong = Symbol('wrong');

const field = <Type>(
  validate: (value: unknown) => Type | typeof wrong | undefined,
  { schema }: Shape<Type>,
  isWritten = true,
): Field<Type> => {
  const checked = (value: unknown) => validate(value);
  checked.schema = schema;
  checked.isWritten = isWritten;
  return checked;
};

/** A validator for each field: a missing one does not compile. */
export type Fields<Type> = { readonly [Name in keyof Type]-?: Field<Exclude<Type[Name], undefined>> };

/** The object is invalid without it. */
export const required = <Type>(inner: Shape<Type>): Field<Type> => field((value) => validOrWrong(inner, value), inner);

const validOrWrong = <Type>(inner: Shape<Type>, value: unknown): Type | typeof wrong => {
  const read = inner(value);
  return read === undefined ? wrong : read;
};

/** The field may be missing, as in a file of an older version, but not invalid. */
export const withDefault = <Type>(fallback: Type, inner: Shape<Type>): Field<Type> =>
  field((value) => (value === undefined ? fallback : validOrWrong(inner, value)), inner);

/** The field may be missing, but not invalid. */
export const optional = <Type>(inner: Shape<Type>): Field<Type> =>
  field((value) => (value === undefined ? undefined : validOrWrong(inner, value)), inner, false);

/** An invalid value is replaced by `fallback`. */
export const withFallback = <Type>(fallback: Type, inner: Shape<Type>): Field<Type> =>
  field((value) => {
    const read = inner(value);
    return read === undefined ? fallback : read;
  }, inner);

/** A field with an invalid value is omitted. */
export const droppedIfInvalid = <Type>(inner: Shape<Type>): Field<Type> => field(inner, inner, false);

/** Unknown fields are dropped. */
export const object = <Type extends object>(fields: Fields<Type>): Shape<Type> => {
  // Most shapes of a program are not used by a command.
  let known: readonly (readonly [string, Field<unknown>])[] | null = null;
  const rows = () => (known ??= Object.entries<Field<unknown>>(fields));
  const validate = (value: unknown): Type | undefined => {
    if (!isObject(value)) return undefined;
    const result: Record<string, unknown> = {};
    for (const [name, read] of rows()) {
      const found = read(Object.hasOwn(value, name) ? value[name] : undefined);
      if (found === wrong) return undefined;
      if (found !== undefined) result[name] = found;
    }
    return result as Type;
  };
  return shape(validate, (definitions) => ({
    type: 'object',
    required: rows().flatMap(([name, { isWritten }]) => (isWritten ? [name] : [])),
    properties: Object.fromEntries(rows().map(([name, { schema }]) => [name, schema(definitions)])),
  }));
};

/** Objects whose `type` says which shape they have. */
export const tagged = <Type extends { readonly type: string }>(shapes: {
  readonly [Tag in Type['type']]: Shape<Omit<Extract<Type, { readonly type: Tag }>, 'type'>>;
}): Shape<Type> => {
  const validate = (value: unknown): Type | undefined => {
    const type = isObject(value) ? text(value.type) : undefined;
    if (type === undefined || !Object.hasOwn(shapes, type)) return undefined;
    const fields = (shapes[type as Type['type']] as Shape<object>)(value);
    return fields && ({ type, ...fields } as unknown as Type);
  };
  return shape(validate, (definitions) => ({
    oneOf: Object.entries<Shape<object>>(shapes).map(([type, { schema }]) =>
      withTag(type, resolved(schema(definitions), definitions)),
    ),
  }));
};

/** The schema that a reference stands for. */
const resolved = (schema: JsonSchema, definitions: ReadonlyMap<string, JsonSchema>): JsonSchema =>
  typeof schema.$ref === 'string' ? definitions.get(schema.$ref.replace('#/definitions/', ''))! : schema;

const withTag = (type: string, { required: names, properties, ...rest }: JsonSchema): JsonSchema => ({
  ...rest,
  required: ['type', ...(names as readonly string[])],
  properties: { type: { const: type }, ...(properties as JsonSchema) },
});

export const text: Shape<string> = shape((value) => (typeof value === 'string' ? value : undefined), {
  type: 'string',
});
export const boolean: Shape<boolean> = shape((value) => (typeof value === 'boolean' ? value : undefined), {
  type: 'boolean',
});
export const number: Shape<number> = shape((value) => (Number.isFinite(value) ? (value as number) : undefined), {
  type: 'number',
});

/** A non-negative integer. */
export const count: Shape<number> = shape(
  (value) => (Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined),
  { type: 'integer', minimum: 0 },
);

/** Milliseconds since 1970, within the range of Date. */
export const epochMs: Shape<number> = shape(
  (value) => (Math.abs(number(value) ?? Infinity) <= 8.64e15 ? number(value) : undefined),
  { type: 'number', description: 'Milliseconds since 1970' },
);

/** A date and time as a string. */
export const isoTime: Shape<string> = shape(
  (value) => (Number.isNaN(Date.parse(text(value) ?? '')) ? undefined : text(value)),
  { type: 'string', format: 'date-time' },
);

/** Any JSON. */
export const anything: Shape<unknown> = shape((value) => value, {});

export const matching = (pattern: RegExp): Shape<string> =>
  shape((value) => (pattern.test(text(value) ?? '') ? text(value) : undefined), {
    type: 'string',
    pattern: pattern.source,
  });

export const oneOf = <const Values extends readonly (string | number)[]>(values: Values): Shape<Values[number]> =>
  shape((value) => values.find((known) => known === value), { enum: values });

export const orNull = <Type>(inner: Shape<Type>): Shape<Type | null> =>
  shape(
    (value) => (value === null ? null : inner(value)),
    (definitions) => ({ anyOf: [inner.schema(definitions), { type: 'null' }] }),
  );

/** A list whose items all have the shape. */
export const listOf = <Type>(item: Shape<Type>): Shape<readonly Type[]> => {
  const valid = validItems(item);
  return shape((value) => {
    const items = valid(value);
    return Array.isArray(value) && items?.length === value.length ? items : undefined;
  }, valid.schema);
};

/** The items of a list that have the shape. */
export const validItems = <Type>(item: Shape<Type>): Shape<readonly Type[]> =>
  shape(
    (value) =>
      Array.isArray(value) ? value.map((each) => item(each)).filter((each) => each !== undefined) : undefined,
    (definitions) => ({ type: 'array', items: item.schema(definitions) }),
  );

/** A list of exactly two items. */
export const pairOf = <First, Second>(first: Shape<First>, second: Shape<Second>): Shape<readonly [First, Second]> =>
  shape(
    (value) => {
      if (!Array.isArray(value) || value.length !== 2) return undefined;
      const [one, two] = [first(value[0]), second(value[1])];
      return one === undefined || two === undefined ? undefined : [one, two];
    },
    (definitions) => ({ type: 'array', items: [first.schema(definitions), second.schema(definitions)] }),
  );

/** The entries of an object whose values have the shape. */
export const mapOf = <Type>(item: Shape<Type>): Shape<Readonly<Record<string, Type>>> =>
  shape(
    (value) =>
      isObject(value)
        ? Object.fromEntries(
            Object.entries(value).flatMap(([name, each]) => {
              const read = item(each);
              return read === undefined ? [] : [[name, read]];
            }),
          )
        : undefined,
    (definitions) => ({ type: 'object', additionalProperties: item.schema(definitions) }),
  );

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
