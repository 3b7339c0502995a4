import { Gauge, type Registry } from "prom-client";
import type { Engine } from "../engine/engine.ts";
import { countHeldUp, countWorkers, findClosedLanes } from "../engine/reading/census.ts";
import { queueDepths } from "../engine/reading/queue-depths.ts";
import { BLOCKING_CAUSES, type BlockingCause } from "../kernel/blocking.ts";
import { SUSPENSION_REASONS } from "../kernel/suspension/reasons.ts";

/**
 * The figures whose every line belongs to one namespace: of that namespace, or of all. They are counted when somebody asks,
 * not as things happen: other engines change them too.
 */
export function addTenantMetrics(
	registry: Registry,
	{ runners, kernel }: Engine,
	{ most, namespace }: { most: number; namespace?: string },
): void {
	const depths = lookTogether(() => queueDepths(runners, most, namespace));
	const closedLanes = lookTogether(() => findClosedLanes(runners, kernel, most, namespace));
	const workers = lookTogether(() => countWorkers(runners, namespace));
	const registers = [registry];
	new Gauge({
		name: "flowfabric_queue_depth",
		help: "Executions by lane and state",
		labelNames: ["namespace", "lane", "state"],
		registers,
		async collect() {
			const found = await depths();
			this.reset();
			for (const { namespace, lane, state, size } of found ?? []) this.set({ namespace, lane, state }, size);
		},
	});
	new Gauge({
		name: "flowfabric_queue_oldest_seconds",
		help: "Age of the oldest execution that has not ended, by lane and state",
		labelNames: ["namespace", "lane", "state"],
		registers,
		async collect() {
			const found = await depths();
			this.reset();
			for (const { namespace, lane, state, oldestMs } of found ?? [])
				if (oldestMs !== undefined) this.set({ namespace, lane, state }, oldestMs / 1000);
		},
	});
	new Gauge({
		name: "flowfabric_lane_closed",
		help: "1 for every lane that is paused or draining",
		labelNames: ["namespace", "lane", "state"],
		registers,
		async collect() {
			const found = await closedLanes();
			this.reset();
			for (const closed of found ?? []) this.set({ ...closed }, 1);
		},
	});
	new Gauge({
		name: "flowfabric_workers",
		help: "Worker instances in the registry, by namespace",
		labelNames: ["namespace"],
		registers,
		async collect() {
			const found = await workers();
			this.reset();
			for (const [namespace, count] of found ?? []) this.set({ namespace }, count);
		},
	});
}

/** What goes nowhere, over all namespaces. */
export function addHeldUpMetrics(registry: Registry, { runners }: Engine): void {
	const heldUp = lookTogether(() => countHeldUp(runners));
	const registers = [registry];
	new Gauge({
		name: "flowfabric_suspended",
		help: "Executions suspended just now, by what they wait for",
		labelNames: ["reason"],
		registers,
		async collect() {
			const found = await heldUp();
			this.reset();
			if (!found) return;
			for (const reason of new Set(Object.values(SUSPENSION_REASONS)))
				this.set({ reason }, found.suspended.get(reason) ?? 0);
		},
	});
	new Gauge({
		name: "flowfabric_blocked",
		help: "Executions set aside just now, by what they wait for",
		labelNames: ["reason"],
		registers,
		async collect() {
			const found = await heldUp();
			this.reset();
			if (!found) return;
			for (const cause of Object.keys(BLOCKING_CAUSES) as BlockingCause[])
				this.set({ reason: BLOCKING_CAUSES[cause].blockingReason }, found.blocked.get(cause) ?? 0);
		},
	});
}

/** Figures collected at the same time share one look; without a store that answers, the others are still worth having. */
function lookTogether<T>(look: () => Promise<T>): () => Promise<T | undefined> {
	let looking: Promise<T | undefined> | undefined;
	return () => {
		looking ??= look()
			.catch(() => undefined)
			.finally(() => (looking = undefined));
		return looking;
	};
}
