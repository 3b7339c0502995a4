import type { ExecutionEvent } from "../../src/kernel/events.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { publicState } from "../../src/kernel/state.ts";
import { Violation } from "./violation.ts";

/** Work stays with its tenant, and goes to its tenant's workers only: in this world those give its name as their own. */
export function checkTenant(event: ExecutionEvent, next: ExecutionRecord, before: ExecutionRecord | undefined): void {
	const { type, executionId } = event;
	if (before && before.namespace !== next.namespace)
		throw new Violation(`${executionId} went from ${before.namespace} to ${next.namespace}`);
	if (event.namespace !== undefined && event.namespace !== next.namespace)
		throw new Violation(`${executionId} of ${next.namespace}: ${type} is told as of ${event.namespace}`);
	if ((type === "claimed" || type === "granted") && event.workerId !== next.namespace)
		throw new Violation(`${executionId} of ${next.namespace} was ${type} by a worker of ${event.workerId}`);
}

/** What an execution was while a list was read. */
export interface Listed {
	id: string;
	/** Its states since the list was asked for, absent ones too. */
	states: readonly (ExecutionRecord | undefined)[];
}

/** A list of everything a tenant has shows nothing else, and all that was there and hardly moved meanwhile. */
export function checkList(
	namespace: string,
	told: readonly { id: string; namespace: string }[],
	all: readonly Listed[],
): void {
	const ids = new Set(told.map(({ id }) => id));
	const own = all.filter(({ states }) => states.some((record) => record?.namespace === namespace));
	const ownIds = new Set(own.map(({ id }) => id));
	for (const { id, namespace: of } of told) {
		if (of !== namespace || !ownIds.has(id)) throw new Violation(`${namespace} was shown ${id} of ${of}`);
	}
	for (const { id, states } of own) {
		if (!ids.has(id) && states.every((record) => record) && moves(states) < 2)
			throw new Violation(`${namespace} has ${id}, and a list of all it has lacks it`);
	}
}

function moves(states: Listed["states"]): number {
	const shown = states.map((record) => record && publicState(record));
	return shown.filter((state, n) => n > 0 && state !== shown[n - 1]).length;
}
