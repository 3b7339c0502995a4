import type { Random } from "../../simulation/random.ts";

/** As much of JSON Schema as our own shapes use. */
export interface Schema {
	type?: string;
	properties?: Record<string, Schema>;
	required?: string[];
	additionalProperties?: boolean | Schema;
	patternProperties?: Record<string, Schema>;
	items?: Schema;
	anyOf?: Schema[];
	enum?: unknown[];
	const?: unknown;
	pattern?: string;
	minimum?: number;
	maximum?: number;
	minLength?: number;
	maxLength?: number;
	maxItems?: number;
}

/** Where valid requests find things that exist; by name of the field. */
export type Samples = Record<string, (random: Random) => unknown>;

/** A value a schema allows, as far as samples and bounds tell. */
export function validValue(schema: Schema, name: string, random: Random, samples: Samples): unknown {
	const sample = samples[name];
	if (sample && random.chance(0.9)) return sample(random);
	if (schema.const !== undefined) return schema.const;
	if (schema.enum) return random.pick(schema.enum);
	if (schema.anyOf) return validValue(random.pick(schema.anyOf), name, random, samples);
	switch (schema.type) {
		case "object": {
			const fields = Object.entries(schema.properties ?? {}).filter(
				([field]) => schema.required?.includes(field) || random.chance(0.25),
			);
			return Object.fromEntries(fields.map(([field, of]) => [field, validValue(of, field, random, samples)]));
		}
		case "array":
			return Array.from({ length: random.integer(0, Math.min(3, schema.maxItems ?? 3)) }, () =>
				validValue(schema.items ?? {}, name, random, samples),
			);
		case "integer":
		case "number": {
			const low = schema.minimum ?? 0;
			return random.integer(low, Math.min(schema.maximum ?? low + 50, Math.max(low, 0) + 50));
		}
		case "boolean":
			return random.chance(0.5);
		case "string":
			return text(random, schema.minLength ?? 1, Math.min(schema.maxLength ?? 20, (schema.minLength ?? 1) + 20));
		default:
			return random.pick([null, 1, "text", [1, 2], { a: { b: "c" } }]);
	}
}

const ODD: ((random: Random) => unknown)[] = [
	() => null,
	() => -1,
	() => 1e308,
	() => 0.5,
	() => Number.MAX_SAFE_INTEGER + 2,
	() => "",
	() => "\u0000",
	() => "\ud800",
	() => "__proto__",
	() => "../../etc/passwd",
	() => "x".repeat(5000),
	() => "🦊".repeat(300),
	() => [],
	() => {},
	() => ({ toString: 1, constructor: { prototype: {} } }),
	() => true,
	(random) => nested(random.integer(5, 400)),
	() => Array.from({ length: 1500 }, () => ({})),
];

export const oddValue = (random: Random): unknown => random.pick(ODD)(random);

/** A valid value with something wrong somewhere in it. */
export function brokenValue(schema: Schema, name: string, random: Random, samples: Samples): unknown {
	const value = validValue(schema, name, random, samples);
	if (typeof value !== "object" || value === null || random.chance(0.1)) return oddValue(random);
	const target = value as Record<string, unknown>;
	const fields = [...Object.keys(schema.properties ?? target)];
	const field = fields.length > 0 ? random.pick(fields) : "field";
	switch (random.integer(0, 4)) {
		case 0:
			delete target[field];
			break;
		case 1:
			target[random.pick(["extra", "__proto__x", "constructor", "Kind", "limit "])] = 1;
			break;
		case 2:
			target[field] = brokenValue(schema.properties?.[field] ?? {}, field, random, samples);
			break;
		default:
			target[field] = oddValue(random);
	}
	return value;
}

function text(random: Random, low: number, high: number): string {
	return Array.from({ length: random.integer(low, high) }, () => random.pick([..."abcXYZ019 ._-:,/é"])).join("");
}

function nested(depth: number): unknown {
	let value: unknown = 1;
	for (let n = 0; n < depth; n++) value = n % 2 ? [value] : { n: value };
	return value;
}
