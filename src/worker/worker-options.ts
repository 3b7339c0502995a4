import { type Clock, systemClock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { namesOf, refuseUnknownOptions } from "../contract/option-names.ts";
import { type Logger, plainLogger, quietLogger } from "./logger.ts";

/** What a worker offers and how it works; defaults stand in parentheses. */
export interface WorkerOptions {
	/** Lanes to take work from, best first (`["default"]`). */
	lanes?: string[];
	/** The namespace to take work from (`default`, or the one the token is bound to). */
	namespace?: string;
	/** What this worker offers: it is given work that requires no more than this (nothing). */
	capabilities?: string[];
	/** Executions run at the same time (16). */
	concurrency?: number;
	/** Time to live of leases (30000); they are renewed at a third of it. */
	leaseMs?: number;
	/** A name for this kind of worker (`worker`). */
	workerId?: string;
	/** A name for this very process (made of host, process and chance). */
	instanceId?: string;
	/** How long `stop()` lets handlers finish (10000). */
	graceMs?: number;
	/** Stop on SIGTERM and SIGINT (true); the second signal ends the process at once. */
	handleSignals?: boolean;
	/** Where it logs (warnings and errors to standard error). */
	log?: Logger;
	/** For tests: how time passes (the machine's clock). */
	clock?: Clock;
}

const OPTION_NAMES = namesOf<WorkerOptions>({
	lanes: true,
	namespace: true,
	capabilities: true,
	concurrency: true,
	leaseMs: true,
	workerId: true,
	instanceId: true,
	graceMs: true,
	handleSignals: true,
	log: true,
	clock: true,
});

const MAX_GRACE_MS = 86_400_000;

/** Options with their defaults; a worker without a namespace takes the one its caller is bound to. */
export type SettledOptions = Required<Omit<WorkerOptions, "instanceId" | "namespace">> &
	Pick<WorkerOptions, "namespace">;

/** Fills in what was left out. Throws for unknown names and for numbers that no server would see. */
export function settleOptions(options: WorkerOptions): SettledOptions {
	refuseUnknownOptions("worker()", options, OPTION_NAMES);
	const { concurrency = 16, leaseMs = 30_000, graceMs = 10_000 } = options;
	checkInteger("concurrency", concurrency, 1, 10_000);
	checkGrace(graceMs);
	return {
		lanes: options.lanes ?? ["default"],
		...(options.namespace === undefined ? undefined : { namespace: options.namespace }),
		capabilities: options.capabilities ?? [],
		concurrency,
		leaseMs,
		workerId: options.workerId ?? "worker",
		graceMs,
		handleSignals: options.handleSignals ?? true,
		log: options.log ? plainLogger(options.log) : quietLogger,
		clock: options.clock ?? systemClock,
	};
}

export function checkGrace(graceMs: number): void {
	checkInteger("graceMs", graceMs, 0, MAX_GRACE_MS);
}

function checkInteger(field: string, value: number, low: number, high: number): void {
	if (Number.isInteger(value) && value >= low && value <= high) return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: must be an integer from ${low} to ${high}, got ${String(value)}`,
		details: { field },
	});
}
