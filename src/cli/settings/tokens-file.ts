import { readFileSync } from "node:fs";
import { FlowFabricError } from "../../contract/errors.ts";
import { name, namespace } from "../../contract/fields.ts";
import { Type } from "../../contract/schema.ts";
import { shape } from "../../contract/validate.ts";
import { ROLES } from "../../server/access.ts";
import type { TokenEntry } from "../../server/options.ts";
import { MAX_RATE } from "../../server/request-rate.ts";
import { SettingError } from "./setting.ts";

const ENTRY = "{hash, name, role, namespace?, requestsPerSecond?, requestBurst?}";

const rate = Type.Integer({ minimum: 1, maximum: MAX_RATE, allowed: `must be an integer from 1 to ${MAX_RATE}` });

const entry = Type.Object(
	{
		hash: Type.String({
			pattern: "^[0-9a-fA-F]{64}$",
			allowed: "must be the SHA-256 of the token as 64 hex digits",
		}),
		name,
		role: Type.Enum([...ROLES], { allowed: `must be one of ${ROLES.join(", ")}` }),
		namespace: Type.Optional(namespace),
		requestsPerSecond: Type.Optional(rate),
		requestBurst: Type.Optional(rate),
	},
	{ additionalProperties: false, allowed: `must be ${ENTRY}` },
);

const file = shape(
	Type.Object(
		{
			tokens: Type.Array(entry, {
				minItems: 1,
				allowed: `must be a list of at least one ${ENTRY}`,
			}),
		},
		{ additionalProperties: false },
	),
	{ isSecret: true },
);

/** What is wrong in it is told by place and field. Nothing that stands in it is shown: a token may stand anywhere. */
export function readTokensFile(path: string): TokenEntry[] {
	const refuse = (problem: string) => new SettingError("FF_API_TOKENS_FILE", `${path}: ${problem}`);
	let parsed: unknown;
	try {
		parsed = JSON.parse(readFileSync(path, "utf8"));
	} catch (error) {
		const unreadable = (error as NodeJS.ErrnoException).code;
		throw refuse(unreadable ? `cannot be read (${unreadable})` : "must be JSON");
	}
	try {
		const { tokens } = file.check({ tokens: parsed });
		for (const field of ["hash", "name"] as const) {
			const seen = new Set<string>();
			for (const [n, each] of tokens.entries()) {
				const value = field === "hash" ? each.hash.toLowerCase() : each.name;
				if (seen.has(value)) throw refuse(`tokens[${n}].${field}: is there twice`);
				seen.add(value);
			}
		}
		return tokens;
	} catch (error) {
		if (!(error instanceof FlowFabricError)) throw error;
		throw refuse(error.message);
	}
}
