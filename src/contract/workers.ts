import { FlowFabricError } from "./errors.ts";
import { capabilities, integer, kind, lane, name, namespace, page } from "./fields.ts";
import { described, type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** Requests about the registry of workers. */

const strict = { additionalProperties: false, allowed: "must be an object" };

const MAX_CAPABILITY_BYTES = 4096;
/** All kinds as JSON: they share a record with everything else, and a record has a cap. */
const MAX_KINDS_CHARS = 32_768;

export const registerWorkerRequest = shape(
	Type.Object(
		{
			workerId: described(name, "Name of this kind of worker"),
			namespace: Type.Optional(namespace),
			capabilities: capabilities("What it offers"),
			kinds: Type.Optional(
				Type.Array(kind, {
					minItems: 1,
					maxItems: 256,
					description: "Kinds it has handlers for; any kind when left out",
					allowed: "must be an array of 1 to 256 kinds",
				}),
			),
			lanes: Type.Array(lane, {
				minItems: 1,
				maxItems: 64,
				description: "Lanes it takes work from",
				allowed: "must be an array of 1 to 64 lanes",
			}),
			ttlMs: Type.Optional(integer(1000, 3_600_000, "How long it counts as live without a heartbeat (30000)")),
		},
		strict,
	),
);

/** What a worker offers. */
export type RegisterWorkerRequest = Static<typeof registerWorkerRequest.schema>;

export const workersRequest = shape(Type.Object({ namespace: Type.Optional(namespace) }, strict));

/** Whose worker is meant. */
export type WorkersRequest = Static<typeof workersRequest.schema>;

export const workersPageRequest = shape(Type.Object({ namespace: Type.Optional(namespace), ...page }, strict));

/** Which page of workers to read. */
export type WorkersPageRequest = Static<typeof workersPageRequest.schema>;

export const instanceIdShape = shape(Type.Object({ instanceId: name }, strict));

/** The tokens sorted, each once; refused when they are not text that every store and wire can carry, or too long. */
export function capabilitySet(tokens: readonly string[], field = "capabilities"): string[] {
	tokens.forEach((token, n) => {
		if (!token.isWellFormed()) {
			throw invalid(`${field}[${n}]`, "must be well-formed text, got a lone surrogate");
		}
	});
	const sorted = isSet(tokens) ? [...tokens] : [...new Set(tokens)].sort();
	const bytes = Buffer.byteLength(sorted.join(","));
	if (bytes > MAX_CAPABILITY_BYTES) {
		throw invalid(field, `must be at most ${MAX_CAPABILITY_BYTES} bytes joined by commas, got ${bytes}`);
	}
	return sorted;
}

/** Most callers name them so already, with every call. */
function isSet(tokens: readonly string[]): boolean {
	for (let n = 1; n < tokens.length; n++) if ((tokens[n - 1] as string) >= (tokens[n] as string)) return false;
	return true;
}

export function checkKinds(kinds: readonly string[] | undefined): void {
	const chars = kinds ? JSON.stringify(kinds).length : 0;
	if (chars > MAX_KINDS_CHARS) throw invalid("kinds", `must be at most ${MAX_KINDS_CHARS} characters, got ${chars}`);
}

function invalid(field: string, problem: string): FlowFabricError {
	return new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
}
