import { FlowFabricError } from "./errors.ts";
import { integer, namespace, page } from "./fields.ts";
import { type Static, type TSchema, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** What requests about budgets and about quotas have in common. */

export const strict = { additionalProperties: false, allowed: "must be an object" };

/** Limits and amounts stay where sums of them are exact. */
export const MAX_AMOUNT = 10 ** 15 - 1;

export const MAX_GUARDS = 16;
export const MAX_DIMENSIONS = 64;

export const guardId = Type.String({
	pattern: "^[A-Za-z0-9._:-]{1,128}$",
	description: "Name, unique within its namespace",
	allowed: "must be 1 to 128 characters of A-Z a-z 0-9 . _ : -",
});

export const guardIds = (description: string) =>
	Type.Array(guardId, {
		maxItems: MAX_GUARDS,
		description,
		allowed: `must be an array of at most ${MAX_GUARDS} ids`,
	});

export const amounts = Type.Record(integer(0, MAX_AMOUNT, "An amount"), {
	maxProperties: MAX_DIMENSIONS,
	description: "Amounts by dimension: {name: amount}",
	allowed: `must be an object of at most ${MAX_DIMENSIONS} dimensions`,
});

export const limit = (description: string) => integer(1, MAX_AMOUNT, description);

/** The same, or null to take it away. */
export const orNull = <S extends TSchema & { description?: string }>(schema: S) =>
	Type.Union(
		[schema, Type.Null({ allowed: "or null" })],
		schema.description === undefined ? undefined : { description: `${schema.description}; null to remove it` },
	);

export const guardRequest = shape(Type.Object({ namespace: Type.Optional(namespace) }, strict));

/** Whose budget or quota is meant. */
export type GuardRequest = Static<typeof guardRequest.schema>;

export const guardsPageRequest = shape(Type.Object({ namespace: Type.Optional(namespace), ...page }, strict));

/** Which page of budgets or quotas to read. */
export type GuardsPageRequest = Static<typeof guardsPageRequest.schema>;

export const guardIdShape = shape(Type.Object({ id: guardId }, strict));

const DIMENSION = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** Names of dimensions become fields of records, so the few that every object has are none. */
export function checkDimensions(field: string, given: object): void {
	const bad = Object.keys(given).find((name) => !DIMENSION.test(name) || name in {});
	if (bad === undefined) return;
	const name = bad.slice(0, 64);
	const allowed = "must be 1 to 64 characters of A-Z a-z 0-9 _ . -, the first a letter or digit";
	const problem = bad in {} ? "is a word that cannot be used" : allowed;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: ${JSON.stringify(name)} is no name of a dimension: ${problem}`,
		details: { field, dimension: name },
	});
}
