import type { FastifyRequest } from "fastify";
import { filterFields } from "../contract/executions.ts";
import { executionDefaults } from "../kernel/records/execution.ts";

/** What the audit line of an action says beyond who did it and how it went. */
export interface Audit {
	what: string;
	/** What it is done to: `target`, and whatever else is needed to tell it from others. */
	target(request: FastifyRequest): { target: string } & Record<string, unknown>;
	/** What came of it beyond that it was done. */
	result?(answer: unknown): Record<string, unknown>;
}

const paramsOf = ({ params }: FastifyRequest): Record<string, string> => params as Record<string, string>;

/** The namespace that is meant: the one that was asked for, else that of the token, else the default. */
function namespaceMeant({ principal, query }: FastifyRequest): string {
	const { namespace } = query as { namespace?: unknown };
	return typeof namespace === "string" ? namespace : (principal.namespace ?? executionDefaults.namespace);
}

export const onExecution = (what: string): Audit => ({
	what,
	target: (request) => ({ target: paramsOf(request).id ?? "" }),
});

export const onFlow = (what: string, result?: Audit["result"]): Audit => ({
	...onExecution(what),
	...(result ? { result } : undefined),
});

/** On a part of a flow, which the body or the path names. */
export const onPartOfFlow = (what: string, ...names: string[]): Audit => ({
	what,
	target(request) {
		const given = { ...((request.body ?? {}) as object), ...paramsOf(request) } as Record<string, unknown>;
		const part = names.flatMap((name) => {
			const value = given[name];
			return typeof value === "string" ? [[name, value.slice(0, MOST_SAID)]] : [];
		});
		return { target: paramsOf(request).id ?? "", ...Object.fromEntries(part) };
	},
	result(answer) {
		const { created } = answer as { created?: boolean };
		return created === undefined ? {} : { created };
	},
});

export const onLane = (what: string): Audit => ({
	what,
	target: (request) => ({ target: paramsOf(request).lane ?? "", namespace: namespaceMeant(request) }),
});

/** On a budget or a quota. */
export const onGuard = (what: string, result?: Audit["result"]): Audit => ({
	what,
	target: (request) => ({ target: paramsOf(request).id ?? "", namespace: namespaceMeant(request) }),
	...(result ? { result } : undefined),
});

/** On one that is to be made, which the body names. */
export const onNewGuard = (what: string): Audit => ({
	what,
	target({ body, principal }) {
		const { id, namespace } = (body ?? {}) as { id?: unknown; namespace?: unknown };
		const named = typeof namespace === "string" ? namespace.slice(0, MOST_SAID) : undefined;
		return {
			target: typeof id === "string" ? id.slice(0, MOST_SAID) : "",
			namespace: named ?? principal.namespace ?? executionDefaults.namespace,
		};
	},
	result: (answer) => ({ created: (answer as { created: boolean }).created }),
});

export const onWorker = (what: string): Audit => ({
	what,
	target: (request) => ({ target: paramsOf(request).instanceId ?? "", namespace: namespaceMeant(request) }),
	result: (answer) => ({ removed: (answer as { removed: boolean }).removed }),
});

export const onBackup: Audit = {
	what: "backup",
	target: ({ body }) => ({ target: "store", keys: (body as { keys?: unknown } | undefined)?.keys === true }),
};

/** Tells which keys, and nothing of their secrets. */
export const onKeyring: Audit = {
	what: "rotate",
	target: () => ({ target: "keyring" }),
	result(answer) {
		const { kid, previousKid } = answer as { kid: string; previousKid?: string };
		return { kid, ...(previousKid === undefined ? undefined : { previousKid }) };
	},
};

export const onMany: Audit = {
	what: "bulk",
	target({ body, principal }) {
		const { action, filter } = (body ?? {}) as { action?: unknown; filter?: unknown };
		const { namespace = principal.namespace ?? executionDefaults.namespace, ...narrowed } = knownFields(filter);
		const acted = typeof action === "string" ? { action: action.slice(0, MOST_SAID) } : undefined;
		return { target: "executions", namespace, ...acted, filter: narrowed };
	},
	result(answer) {
		const { done, failed, nextCursor } = answer as { done: number; failed: number; nextCursor?: string };
		return { done, failed, isLast: nextCursor === undefined };
	},
};

const MOST_SAID = 256;

/** A body that was refused may hold anything, of any length: the line tells what can be part of a filter. */
function knownFields(filter: unknown): Record<string, string | number> {
	const known: Record<string, string | number> = {};
	if (typeof filter !== "object" || filter === null) return known;
	for (const name of Object.keys(filterFields)) {
		const given: unknown = (filter as Record<string, unknown>)[name];
		const isTexts = Array.isArray(given) && given.every((each) => typeof each === "string");
		const value = isTexts ? given.join(",") : given;
		if (typeof value === "number") known[name] = value;
		if (typeof value === "string") known[name] = value.slice(0, MOST_SAID);
	}
	return known;
}
