import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Engine } from "../engine/engine.ts";
import type { EngineObserver } from "../engine/observer.ts";
import type { BatchReport } from "../engine/partition/batch-sender.ts";
import type { UnitDraft } from "../engine/partition/unit-draft.ts";
import type { EventBody } from "../kernel/events.ts";
import type { OutcomeOf } from "../kernel/kernel.ts";
import type { Outcome } from "../kernel/outcome.ts";
import { leaseEndOf } from "../kernel/reading.ts";
import { recordTypeOf } from "../kernel/record-types.ts";
import {
	type ExecutionRecord,
	eligibleSince,
	executionKey,
	type TimeoutBehavior,
} from "../kernel/records/execution.ts";
import type { Duty } from "../kernel/timers.ts";
import type { Pools } from "./pools.ts";
import { processMetrics } from "./process-metrics.ts";
import { addScannerMetrics } from "./scanner-metrics.ts";
import { addHeldUpMetrics, addTenantMetrics } from "./store-metrics.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Names callers make up may not fill the memory of whoever scrapes. */
const MAX_NAMES = 200;

const RESERVED = { outcome: "reserved" } as const;
const ACCEPTED = { outcome: "accepted" } as const;
const LAPSED = { outcome: "lapsed" } as const;

const SUSPENSION_TIMEOUT: Duty = "suspension_timeout";
/** By what an event that a timeout caused tells how it was to be treated. */
const TIMED_OUT: Partial<Record<EventBody["type"], TimeoutBehavior>> = {
	resumed: "resume",
	failed: "fail",
	cancelled: "cancel",
	expired: "expire",
	blocked: "escalate",
};

type Signalled = Extract<OutcomeOf<"signal">, { ok: true }>;
type Reported = Extract<OutcomeOf<"reportUsage">, { ok: true }>;
type Appended = Extract<OutcomeOf<"appendFrames">, { ok: true }>;

/** A name as a label: the first of them by themselves, the others together. */
function nameIn(names: Set<string>, name: string): string {
	if (names.size >= MAX_NAMES && !names.has(name)) return "other";
	names.add(name);
	return name;
}

/** Everything `/metrics` shows. It watches the engine for as long as the server runs. */
export class ServerMetrics implements EngineObserver {
	readonly #ofProcess = processMetrics();
	readonly #registry = new Registry();
	readonly #http = this.#histogram("http_request_seconds", "Requests by route and status", ["route", "status"]);
	readonly #claims = this.#histogram("claim_seconds", "Claim calls by outcome, waiting included", ["outcome"]);
	readonly #dispatch = this.#histogram("dispatch_seconds", "From eligible to claimed, by lane", ["lane"]);
	readonly #commands = this.#counter("commands_total", "Commands by operation and outcome", ["op", "outcome"]);
	readonly #conflicts = this.#counter("conflicts_total", "Units that lost against another engine and ran again");
	readonly #commit = this.#histogram("commit_seconds", "Time the store took over a batch");
	readonly #batch = new Histogram({
		name: "flowfabric_batch_units",
		help: "Units in a batch",
		buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
		registers: [this.#registry],
	});
	readonly #renewed = this.#counter("leases_renewed_total", "Renewals");
	readonly #ended = this.#counter("leases_ended_total", "Leases by how they ended; expired ones are reclaimed", ["by"]);
	readonly #live = this.#gauge("leases_live", "Leases seen beginning and not yet ending here");
	readonly #attempts = this.#counter("attempts_total", "Attempts by how they ended", ["outcome"]);
	readonly #grants = this.#counter("grants_total", "Grants by what became of them", ["outcome"]);
	readonly #blocked = this.#counter(
		"blocked_total",
		"Executions set aside, by what they wait for and the limit reached",
		["reason", "limit"],
	);
	readonly #reports = this.#counter(
		"usage_reports_total",
		"Reports of usage by outcome, and by the dimension whose limit they passed or would have",
		["outcome", "dimension"],
	);
	readonly #suspensions = this.#counter("suspensions_total", "Executions that were suspended, by reason", ["reason"]);
	readonly #resumes = this.#counter("resumes_total", "Suspensions from which work went on, by what ended them", ["by"]);
	readonly #timeouts = this.#counter("suspension_timeouts_total", "Suspensions that timed out, by what came of it", [
		"behavior",
	]);
	readonly #signals = this.#counter("signals_total", "Signals by what they did", ["effect"]);
	readonly #frames = this.#counter("stream_frames_total", "Frames appended to streams, by mode", ["mode"]);
	readonly #flowsMade = this.#counter("flows_created_total", "Flows that were made");
	readonly #flowsEnded = this.#counter("flows_ended_total", "Flows by how they ended, again after a replay", ["state"]);
	readonly #flowsCancelled = this.#counter("flow_cancels_total", "Cancels of flows, by policy", ["policy"]);
	readonly #registered = this.#counter("workers_registered_total", "Worker instances that came to the registry");
	readonly #expired = this.#counter("workers_expired_total", "Worker instances that were not heard again");
	readonly #skipped = this.#counter(
		"partitions_skipped_total",
		"Partitions passed over because they could not be read",
	);
	readonly #cut = this.#counter(
		"connections_cut_total",
		"Connections cut off because their answer was not read, or to make room in memory",
	);
	readonly #refusedByRate = this.#counter("requests_over_rate_total", "Requests refused by the rate of their token", [
		"token",
	]);
	readonly #connections = this.#gauge("connections", "Connections open now");
	readonly #faults = this.#counter("faults_total", "Faults the engine survived");
	readonly #lanes = new Set<string>();
	readonly #dimensions = new Set<string>();
	readonly #engine: Engine;

	constructor(engine: Engine, pools: Pools) {
		this.#engine = engine;
		const registry = this.#registry;
		new Gauge({
			name: "flowfabric_pool_waiting",
			help: "Calls waiting now, by pool",
			labelNames: ["pool"],
			registers: [registry],
			collect() {
				for (const { name, held } of Object.values(pools)) this.set({ pool: name }, held);
			},
		});
		new Gauge({
			name: "flowfabric_engines",
			help: "Engines that work on this store, this one among them",
			registers: [registry],
			collect() {
				this.set(engine.share.engines);
			},
		});
		new Gauge({
			name: "flowfabric_stream_tails",
			help: "Readers that follow a stream now",
			registers: [registry],
			collect() {
				this.set(engine.streamTails.readers);
			},
		});
		new Gauge({
			name: "flowfabric_partitions_minded",
			help: "Partitions whose due work is for this engine to do",
			registers: [registry],
			collect() {
				this.set(engine.share.partitions);
			},
		});
		addTenantMetrics(registry, engine, { most: MAX_NAMES });
		addHeldUpMetrics(registry, engine);
		addScannerMetrics(registry, () => engine.duties.rows(engine.parked));
		engine.observer = this;
	}

	close(): void {
		if (this.#engine.observer === this) this.#engine.observer = undefined;
		this.#registry.clear();
	}

	request(route: string, status: number, ms: number): void {
		this.#http.observe({ route, status }, ms / 1000);
	}

	claim(outcome: "hit" | "empty" | "refused", ms: number): void {
		this.#claims.observe({ outcome }, ms / 1000);
	}

	/** Everything this server tells, and what is told of its process. */
	ofAll(): Promise<string> {
		return Registry.merge([this.#ofProcess, this.#registry]).metrics();
	}

	/** What concerns one tenant alone. It is counted apart: how much others have does not show in it. */
	ofNamespace(namespace: string): Promise<string> {
		const registry = new Registry();
		addTenantMetrics(registry, this.#engine, { most: MAX_NAMES, namespace });
		return registry.metrics();
	}

	connections(open: number): void {
		this.#connections.set(open);
	}

	cutConnection(): void {
		this.#cut.inc();
	}

	refusedByRate(token: string): void {
		this.#refusedByRate.inc({ token });
	}

	batch({ units, lost, ms }: BatchReport): void {
		this.#batch.observe(units);
		this.#commit.observe(ms / 1000);
		if (lost > 0) this.#conflicts.inc(lost);
	}

	unit(unit: UnitDraft): void {
		let mayBringWorkers = false;
		for (const { command, outcome } of unit.commands) {
			const { items } = (outcome ?? {}) as { items?: Outcome[] };
			// Creates that went into one command are counted as what they are.
			if (items) for (const item of items) this.#command("create", item);
			else this.#command(command.op, outcome);
			if (outcome?.ok) this.#outcome(command.op, outcome, unit);
			mayBringWorkers ||= command.op === "registerWorker" || command.op === "beat";
		}
		if (mayBringWorkers)
			for (const { key, before, record } of unit.written)
				if (recordTypeOf(key) === "worker" && record && before.length === 0) this.#registered.inc();
		for (const { executionId, at, body } of unit.events) {
			if (executionId === undefined) {
				this.#flow(body);
				continue;
			}
			const record = unit.writeOf(executionKey(executionId))?.record as ExecutionRecord | undefined;
			if (record) this.#event(body, record, at);
		}
	}

	#outcome(op: string, outcome: Outcome, unit: UnitDraft): void {
		if (op === "renew") this.#renewed.inc();
		// Said again it gives the same lease, and is no other grant.
		else if (op === "acceptGrant" && unit.written.length > 0) this.#grants.inc(ACCEPTED);
		else if (op === "reportUsage") this.#report(outcome as Reported);
		else if (op === "appendFrames") for (const { mode } of (outcome as Appended).kept) this.#frames.inc({ mode });
		else if (op === "signal" || op === "approve") this.#signal(outcome as Signalled);
		else if (op === "tick" && (outcome as { duty?: Duty }).duty === "worker_expiry") this.#expired.inc();
	}

	#report({ outcome, dimension, duplicate }: Reported): void {
		if (duplicate) this.#reports.inc({ outcome: "duplicate", dimension: "" });
		else this.#reports.inc({ outcome, dimension: dimension === undefined ? "" : nameIn(this.#dimensions, dimension) });
	}

	#signal({ status, effect }: Signalled): void {
		this.#signals.inc({ effect: status === "duplicate" ? status : effect });
	}

	#suspension({ type, actor, reason, by }: EventBody): void {
		if (type === "suspended") this.#suspensions.inc({ reason: String(reason) });
		else if (type === "resumed") this.#resumes.inc({ by: String(by) });
		const behavior = TIMED_OUT[type];
		if (behavior && actor === SUSPENSION_TIMEOUT) this.#timeouts.inc({ behavior });
	}

	#flow({ type, state, policy }: EventBody): void {
		if (type === "flow_created") this.#flowsMade.inc();
		else if (type === "flow_ended") this.#flowsEnded.inc({ state: String(state) });
		else if (type === "flow_cancel_requested") this.#flowsCancelled.inc({ policy: String(policy) });
	}

	#event(body: EventBody, record: ExecutionRecord, at: number): void {
		if (body.type === "granted") this.#grants.inc(RESERVED);
		else if (body.type === "grant_lapsed") this.#grants.inc(LAPSED);
		else if (body.type === "blocked") {
			const { reason, limit = "" } = body;
			this.#blocked.inc({ reason: String(reason), limit: limit === "" ? "" : nameIn(this.#dimensions, String(limit)) });
		} else if (body.type === "claimed") {
			this.#live.inc();
			this.#dispatch.observe(
				{ lane: nameIn(this.#lanes, record.lane) },
				Math.max(0, at - eligibleSince(record)) / 1000,
			);
		}
		this.#suspension(body);
		const by = leaseEndOf(body, record);
		if (by === undefined) return;
		this.#live.dec();
		this.#ended.inc({ by });
		if (record.attempt?.endedAt !== undefined) this.#attempts.inc({ outcome: record.attempt.state });
	}

	skipped(): void {
		this.#skipped.inc();
	}

	fault(): void {
		this.#faults.inc();
	}

	#command(op: string, outcome: Outcome | undefined): void {
		this.#commands.inc({ op, outcome: outcome?.ok === false ? outcome.code : "ok" });
	}

	#counter<L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> {
		return new Counter({ name: `flowfabric_${name}`, help, labelNames, registers: [this.#registry] });
	}

	#gauge(name: string, help: string): Gauge {
		return new Gauge({ name: `flowfabric_${name}`, help, registers: [this.#registry] });
	}

	#histogram<L extends string>(name: string, help: string, labelNames: L[] = []): Histogram<L> {
		return new Histogram({
			name: `flowfabric_${name}`,
			help,
			labelNames,
			buckets: SECONDS,
			registers: [this.#registry],
		});
	}
}
