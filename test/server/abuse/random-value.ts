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
	minItems?: number;
	maxItems?: number;
}

/** Where valid requests find things that exist; by name of the field. */
export type Samples = Record<string, (random: Random) => unknown>;

/** Fields of which only one may be given, which no schema tells. */
const ONE_OF_TWO = [
	["delayMs", "delayUntil"],
	["input", "inputBase64"],
	["result", "resultBase64"],
	["payload", "payloadBase64"],
] as const;

/** A value a schema allows, as far as samples and bounds tell. */
export function validValue(schema: Schema, name: string, random: Random, samples: Samples): unknown {
	// Fields may be called `constructor`, too.
	const sample = Object.hasOwn(samples, name) ? samples[name] : undefined;
	if (sample && random.chance(0.9)) return sample(random);
	if (schema.const !== undefined) return schema.const;
	if (schema.enum) return random.pick(schema.enum);
	if (schema.anyOf) return validValue(random.pick(schema.anyOf), name, random, samples);
	switch (schema.type) {
		case "object": {
			const fields = Object.entries(schema.properties ?? {}).filter(
				([field]) => field === "fence" || schema.required?.includes(field) || random.chance(0.25),
			);
			if (fields.length === 0 && typeof schema.additionalProperties === "object")
				return { tokens: validValue(schema.additionalProperties, "", random, samples) };
			const value = Object.fromEntries(fields.map(([field, of]) => [field, validValue(of, field, random, samples)]));
			for (const [one, other] of ONE_OF_TWO) if (one in value && random.chance(0.95)) delete value[other];
			return value;
		}
		case "array":
			return Array.from({ length: random.integer(schema.minItems ?? 0, Math.min(3, schema.maxItems ?? 3)) }, () =>
				validValue(schema.items ?? {}, "", random, samples),
			);
		case "integer":
		case "number": {
			const low = schema.minimum ?? 0;
			return random.integer(low, Math.min(schema.maximum ?? low + 50, Math.max(low, 0) + 50));
		}
		case "boolean":
			return random.chance(0.5);
		case "string":
			if (schema.pattern) return random.pick(["a", "b1", "x-y", "n.1"]);
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

/**
 * A valid value of which one part is blown up to about so many bytes: a list of many items, an object of many fields, a long
 * text, or values inside values where anything may stand.
 */
export function blownValue(schema: Schema, random: Random, samples: Samples, bytes: number): unknown {
	const value = validValue(schema, "", random, samples);
	if (typeof value !== "object" || value === null) return blown({}, "", random, samples, bytes);
	const fields = Object.keys(schema.properties ?? {});
	const field = fields.length > 0 && random.chance(0.95) ? random.pick(fields) : "extra";
	return { ...value, [field]: blown(schema.properties?.[field] ?? {}, field, random, samples, bytes) };
}

function blown(schema: Schema, name: string, random: Random, samples: Samples, bytes: number): unknown {
	if (schema.type === "array" && random.chance(0.8)) {
		const items = schema.items ?? {};
		// Sometimes as many as are allowed, each of its part of the size; else as many as fit, valid or the smallest there are.
		if (schema.maxItems && random.chance(0.4)) {
			const share = bytes / schema.maxItems;
			return repeated(schema.maxItems, () =>
				share > 100 && items.properties
					? blownValue(items, random, samples, share)
					: validValue(items, name, random, samples),
			);
		}
		const one = random.chance(0.5) ? validValue(items, name, random, samples) : random.pick([0, {}, [], ""]);
		return repeated(Math.ceil(bytes / ((JSON.stringify(one)?.length ?? 9) + 1)), () => one);
	}
	if (schema.type === "object" && schema.properties && random.chance(0.6))
		return blownValue(schema, random, samples, bytes);
	switch (random.integer(0, 3)) {
		case 0:
			return random.pick(["x", "é", "\u0000", "🦊", '"']).repeat(bytes / 2);
		case 1:
			return nested(Math.min(bytes / 4, random.pick([100, 500, 600, 2500])));
		case 2:
			return Object.fromEntries(repeated(bytes / 12, (n) => [`k${n}`, n]));
		default:
			return repeated(bytes / 3, () => random.pick([[], {}, 1]));
	}
}

const repeated = <T>(count: number, make: (n: number) => T): T[] =>
	Array.from({ length: Math.max(1, Math.floor(count)) }, (_, n) => make(n));

function text(random: Random, low: number, high: number): string {
	return Array.from({ length: random.integer(low, high) }, () => random.pick([..."abcXYZ019 ._-:,/é"])).join("");
}

function nested(depth: number): unknown {
	let value: unknown = 1;
	for (let n = 0; n < depth; n++) value = n % 2 ? [value] : { n: value };
	return value;
}
