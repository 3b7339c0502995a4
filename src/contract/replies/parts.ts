import { PUBLIC_STATES } from "../../kernel/state.ts";
import { type Schema, type TEnum, type TInteger, type TString, Type } from "../schema.ts";

/** What replies are made of. Every field says what it is: the docs and the editors show it. */

export const one = <const V extends readonly string[]>(values: V, description?: string): TEnum<[...V]> =>
	Type.Enum([...values], description === undefined ? undefined : { description }) as unknown as TEnum<[...V]>;

export const text = (description: string): TString => Type.String({ description });

export const texts = (description: string): Schema<string[]> => Type.Array(Type.String(), { description });

export const flag = (description: string): Schema<boolean> => Type.Boolean({ description });

export const count = (description: string): TInteger => Type.Integer({ minimum: 0, description });

export const at = (when: string): TInteger =>
	Type.Integer({ description: `${when}, in Unix milliseconds of the store's clock` });

export const publicState = one(PUBLIC_STATES, "What it does now, or how it ended");

export const attemptType = one(["initial", "retry", "reclaim", "replay"], "Why this attempt was made");

export const nextCursor = Type.Optional(text("Where the next page begins; left out on the last page"));

export const tags = Type.Record(Type.String(), { description: "Words to find it by: {key: value}" });

const why = {
	reason: text("The message of what was thrown, or what the engine says went wrong"),
	category: text("The kind of failure, as retry policies name it"),
};

export const failure = Type.Object(why, { description: "Why it failed" });

/** On reads of one execution and of its attempts; lists, events and claims leave the detail out. */
export const detailedFailure = Type.Object(
	{ ...why, detail: Type.Optional(text("Name, stack and causes of what the handler threw; not in lists")) },
	{ description: "Why it failed" },
);
