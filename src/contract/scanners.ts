import type { ScannerFilter } from "../kernel/scanner-filter.ts";
import { namespace } from "./fields.ts";
import { type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** What the scanners of an engine can be restricted to. */

const MOST = 256;

export const scanners = Type.Object(
	{
		namespaces: Type.Optional(
			Type.Array(namespace, {
				minItems: 1,
				maxItems: MOST,
				description: "They act only on what is of one of these namespaces",
				allowed: `must be an array of 1 to ${MOST} namespaces`,
			}),
		),
		tags: Type.Optional(
			Type.Array(
				Type.String({
					pattern: "^[a-z][a-z0-9_]*(\\.[a-z0-9_]+)*:",
					maxLength: 513,
					allowed: "must be key:value with the key of a tag, as in team:a",
				}),
				{
					minItems: 1,
					maxItems: MOST,
					description: "Of executions, they act only on those that carry one of these tags (key:value)",
					allowed: `must be an array of 1 to ${MOST} tags as key:value`,
				},
			),
		),
	},
	{ additionalProperties: false, allowed: "must be an object" },
);

const options = shape(Type.Object({ scanners: Type.Optional(scanners) }, { allowed: "must be an object" }));

/** What the scanners of an engine are restricted to. */
export type ScannerRestriction = Static<typeof scanners>;

/** Refused by the name of the field. */
export function scannerFilterOf(restriction: ScannerRestriction | undefined): ScannerFilter {
	const given = options.check(restriction === undefined ? {} : { scanners: restriction }).scanners;
	const tags = given?.tags ?? [];
	return {
		namespaces: given?.namespaces ?? [],
		tags: tags.map((tag) => [tag.slice(0, tag.indexOf(":")), tag.slice(tag.indexOf(":") + 1)]),
	};
}

/** As it was given. */
export function restrictionOf({ namespaces, tags }: ScannerFilter): ScannerRestriction {
	return {
		...(namespaces.length > 0 ? { namespaces: [...namespaces] } : undefined),
		...(tags.length > 0 ? { tags: tags.map((tag) => tag.join(":")) } : undefined),
	};
}
