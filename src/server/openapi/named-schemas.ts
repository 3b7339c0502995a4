import * as budgetRequests from "../../contract/budgets.ts";
import * as bulkRequests from "../../contract/bulk.ts";
import * as childRequests from "../../contract/children.ts";
import * as executionRequests from "../../contract/executions.ts";
import * as flowRequests from "../../contract/flows.ts";
import * as laneRequests from "../../contract/lanes.ts";
import * as policyRequests from "../../contract/policy.ts";
import * as quotaRequests from "../../contract/quotas.ts";
import * as admin from "../../contract/replies/admin.ts";
import * as budgets from "../../contract/replies/budgets.ts";
import * as errors from "../../contract/replies/errors.ts";
import * as events from "../../contract/replies/events.ts";
import * as executions from "../../contract/replies/executions.ts";
import * as flows from "../../contract/replies/flows.ts";
import * as lanes from "../../contract/replies/lanes.ts";
import * as leases from "../../contract/replies/leases.ts";
import * as parts from "../../contract/replies/parts.ts";
import * as quotas from "../../contract/replies/quotas.ts";
import * as steps from "../../contract/replies/steps.ts";
import * as streams from "../../contract/replies/streams.ts";
import * as waitpoints from "../../contract/replies/waitpoints.ts";
import * as workers from "../../contract/replies/workers.ts";
import type { TSchema } from "../../contract/schema.ts";
import * as stepRequests from "../../contract/steps.ts";
import * as streamRequests from "../../contract/streams.ts";
import * as waitpointRequests from "../../contract/waitpoints.ts";
import * as leaseRequests from "../../contract/worker-protocol.ts";
import * as workerRequests from "../../contract/workers.ts";

/** Replies come first: where a request and a reply look alike, the name of the reply is the better one. */
const MODULES: readonly object[] = [
	...[executions, leases, flows, budgets, quotas, lanes, waitpoints, streams, steps, workers, events, admin],
	...[parts, errors],
	...[
		policyRequests,
		executionRequests,
		bulkRequests,
		childRequests,
		leaseRequests,
		flowRequests,
		budgetRequests,
		quotaRequests,
	],
	...[laneRequests, waitpointRequests, streamRequests, stepRequests, workerRequests],
];

export type JsonSchema = Record<string, unknown>;

/** What schemas say for error messages: half sentences, and which values these must not show. */
const OURS: ReadonlySet<string> = new Set(["allowed", "isSecret"]);

/** A schema without what only error messages use. */
export function plain(schema: TSchema): JsonSchema {
	return JSON.parse(JSON.stringify(schema, (key, value) => (OURS.has(key) ? undefined : value)));
}

/**
 * Gives the shapes of the contract the names they have in the code, so that a generated client has `Execution` and not
 * the return type of one of its methods. A shape is known by what it says: it is the same one when it is optional.
 */
export class NamedSchemas {
	readonly #names = new Map<string, string>();
	readonly #used = new Map<string, JsonSchema>();

	constructor() {
		for (const [name, value] of MODULES.flatMap((module) => Object.entries(module))) {
			const schema = schemaIn(value);
			if (!schema || !isWorthAName(schema)) continue;
			const text = JSON.stringify(plain(schema));
			if (!this.#names.has(text)) this.#names.set(text, capitalised(name));
		}
	}

	/** The schema with references in place of everything that has a name. */
	refer(schema: TSchema): JsonSchema {
		return this.#refer(plain(schema)) as JsonSchema;
	}

	/** The schema itself written out, whatever its name, with references inside. */
	spelledOut(schema: TSchema): JsonSchema {
		return this.#inside(plain(schema));
	}

	/** Every schema that was referred to. */
	components(): Record<string, JsonSchema> {
		return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)));
	}

	#refer(value: unknown): unknown {
		if (Array.isArray(value)) return value.map((item) => this.#refer(item));
		if (typeof value !== "object" || value === null) return value;
		const name = isWorthAName(value) ? this.#names.get(JSON.stringify(value)) : undefined;
		if (name === undefined) return this.#inside(value);
		if (!this.#used.has(name)) {
			this.#used.set(name, {});
			this.#used.set(name, this.#inside(value));
		}
		return { $ref: `#/components/schemas/${name}` };
	}

	#inside(value: object): JsonSchema {
		return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#refer(item)]));
	}
}

interface Form {
	properties?: object;
	enum?: unknown[];
}

/** A module of the contract exports schemas, shapes around them, and other things. */
function schemaIn(value: unknown): TSchema | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	return "check" in value && "schema" in value ? (value.schema as TSchema) : value;
}

function isWorthAName(schema: object): boolean {
	const { properties, enum: values }: Form = schema;
	return Array.isArray(values) || (properties !== undefined && Object.keys(properties).length > 1);
}

const capitalised = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
