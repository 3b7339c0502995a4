/**
 * Builds JSON Schemas whose values TypeScript knows. A schema is a plain object that can be written into the API's
 * description as it is; `Static` is the type of what it admits. Only what the contract needs is here, so that a program
 * which imports FlowFabric does not load a library of schemas.
 */

/** Any schema. What stands behind a tilde is for the compiler: no schema has it. */
export interface TSchema {
	readonly "~admits"?: unknown;
}
export interface Schema<T> extends TSchema {
	readonly "~admits"?: T;
}
export interface TString extends Schema<string> {}
export interface TInteger extends Schema<number> {}
export type TEnum<V extends readonly unknown[]> = Schema<V[number]>;
export interface TObject<P extends Properties> extends Schema<ObjectOf<P>> {
	readonly properties: P;
}
/** A property that may be left out. */
export type TOptional<S extends TSchema> = S & { readonly "~optional"?: true };

/** What a schema admits. */
export type Static<S extends TSchema> = S extends Schema<infer T> ? T : never;

type Properties = Record<string, TSchema>;
type OptionalNames<P> = { [N in keyof P]: "~optional" extends keyof P[N] ? N : never }[keyof P];
type Flat<T> = { [N in keyof T]: T[N] };
/** Names are picked by a parameter and not by an `as` clause, which would lose what editors show about a property. */
type Given<P extends Properties, K extends keyof P> = { [N in K]: Static<P[N]> };
type Perhaps<P extends Properties, K extends keyof P> = { [N in K]?: Static<P[N]> };
type ObjectOf<P extends Properties> = Flat<
	Given<P, Exclude<keyof P, OptionalNames<P>>> & Perhaps<P, Extract<keyof P, OptionalNames<P>>>
>;

/** Keywords of JSON Schema, and what error messages need: `allowed` is the half sentence they end with. */
export interface Keywords {
	description?: string;
	allowed?: string;
	isSecret?: true;
	minimum?: number;
	maximum?: number;
	minLength?: number;
	maxLength?: number;
	pattern?: string;
	minItems?: number;
	maxItems?: number;
	maxProperties?: number;
	additionalProperties?: boolean;
}

/** Properties made by `Optional`; kept here, so that schemas stay plain JSON Schema. */
const optionals = new WeakSet<TSchema>();

const make = <T>(form: object, keywords: Keywords | undefined): Schema<T> => ({ ...form, ...keywords }) as Schema<T>;

export const Type = {
	String: (keywords?: Keywords): TString => make({ type: "string" }, keywords),
	Integer: (keywords?: Keywords): TInteger => make({ type: "integer" }, keywords),
	Number: (keywords?: Keywords): Schema<number> => make({ type: "number" }, keywords),
	Boolean: (keywords?: Keywords): Schema<boolean> => make({ type: "boolean" }, keywords),
	Null: (keywords?: Keywords): Schema<null> => make({ type: "null" }, keywords),
	Unknown: (keywords?: Keywords): Schema<unknown> => make({}, keywords),
	/** A schema under a narrower type than can be told from it. */
	Unsafe: <T>(schema: TSchema): Schema<T> => ({ ...schema }) as Schema<T>,
	Literal: <const V extends string | number | boolean>(value: V, keywords?: Keywords): Schema<V> =>
		make({ type: typeof value, const: value }, keywords),
	Enum: <const V extends readonly string[]>(values: V, keywords?: Keywords): TEnum<V> =>
		make({ enum: values }, keywords),
	Union: <S extends TSchema[]>(anyOf: [...S], keywords?: Keywords): Schema<Static<S[number]>> =>
		make({ anyOf }, keywords),
	Array: <S extends TSchema>(items: S, keywords?: Keywords): Schema<Static<S>[]> =>
		make({ type: "array", items }, keywords),
	/** Any names, all with values of one schema. */
	Record: <S extends TSchema>(values: S, keywords?: Keywords): Schema<Record<string, Static<S>>> =>
		make({ type: "object", additionalProperties: values }, keywords),
	Object: <P extends Properties>(properties: P, keywords?: Keywords): TObject<P> => {
		const required = Object.keys(properties).filter((name) => !optionals.has(properties[name] as TSchema));
		return make(
			{ type: "object", ...(required.length > 0 ? { required } : undefined), properties },
			keywords,
		) as TObject<P>;
	},
	Optional: <S extends TSchema>(schema: S): TOptional<S> => {
		const copy = { ...schema };
		optionals.add(copy);
		return copy;
	},
};

/** The same schema under another description, for a field where the usual one says too little. */
export const described = <S extends TSchema>(schema: S, description: string): S => ({ ...schema, description });
