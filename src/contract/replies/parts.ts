import { PUBLIC_STATES } from "../../kernel/state.ts";
import { type TEnum, Type } from "../schema.ts";

/** What replies are made of. */

export const one = <const V extends readonly string[]>(values: V): TEnum<[...V]> =>
	Type.Enum([...values]) as unknown as TEnum<[...V]>;

export const count = Type.Integer({ minimum: 0 });

export const at = Type.Integer({ description: "Unix milliseconds of the store's clock" });

export const publicState = one(PUBLIC_STATES);

export const attemptType = one(["initial", "retry", "reclaim", "replay"]);

export const nextCursor = Type.Optional(Type.String({ description: "Left out on the last page" }));

export const tags = Type.Record(Type.String());

const why = { reason: Type.String(), category: Type.String() };

export const failure = Type.Object(why);

/** On reads of one execution and of its attempts; lists, events and claims leave the detail out. */
export const detailedFailure = Type.Object({
	...why,
	detail: Type.Optional(Type.String({ description: "Name, stack and causes of what the handler threw; not in lists" })),
});
