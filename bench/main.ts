import { join } from "node:path";
import { parseArgs } from "node:util";
import BetterSqlite3 from "better-sqlite3";
import type { Unit } from "../src/store/port.ts";
import { AREAS } from "./areas.ts";
import { type HttpBench, httpGetLine, httpIdleLine, httpLifecycleLine } from "./http/lines.ts";
import { commitLatency } from "./limits/commit-latency.ts";
import { recordUnits } from "./limits/recorded-units.ts";
import { median, writeBare } from "./limits/sqlite-writes.ts";
import { type Line, machine, table } from "./report.ts";
import { backlog } from "./scenarios/backlog.ts";
import { batchSubmit } from "./scenarios/batch-submit.ts";
import { dispatch } from "./scenarios/dispatch.ts";
import { lifecycle } from "./scenarios/lifecycle.ts";
import { SCHEDULING } from "./scheduling-lines.ts";
import { startLines } from "./start-lines.ts";
import { openTarget, STORES, type StoreName, type Target } from "./target.ts";
import { BenchServer, SYNC_MODES, type SyncMode } from "./valkey/bench-server.ts";
import { VALKEY_SCENARIOS, type ValkeyScenario } from "./valkey/scenarios.ts";

const HELP = `npm run bench -- [scenario …] [options]

Scenarios: lifecycle, batch-submit, dispatch, backlog, claim-classes, class-lifecycles, head-of-line, fairness, guarded, pause,
  events, suspension, steps, flows, streams, http-lifecycle, http-get, http-idle, on each store;
  valkey-lifecycle (beside BullMQ), valkey-engines, valkey-dispatch, valkey-growth, valkey-memory, valkey-events,
  valkey-guarded, valkey-suspension, valkey-steps, valkey-flows, valkey-streams, valkey-idle, on a private server;
  start: what importing and --version cost beside bare Node and BullMQ
  (all when none is named)
  --store sqlite|memory   one store instead of both
  --size N                executions per round (default 20000)
  --rounds N              rounds, of which the median counts (default 5)
  --partitions N          partitions of the store (default 1, on Valkey 8)
  --aof no|everysec|always  when the Valkey server writes to disk (default no)
  --queued N              how much waits in fairness, pause and valkey-growth (default 100000)
  --handlers N            run at a time in valkey-engines, by all engines together (default 128)
  --idle-seconds N        how long valkey-idle and what is suspended are looked at, and some tails do not read (default 60)
  --seed N                printed with the figures (default 1)
  --json                  machine-readable

Every figure stands beside a limit of the same run: a bare loop of the same rows in SQLite transactions as large as the engine's, or
the time the store takes to commit one unit of the same kind, or BullMQ on the same server. Only the ratios mean anything.
`;

const SCENARIOS = [
	"lifecycle",
	"batch-submit",
	"dispatch",
	"backlog",
	...Object.keys(SCHEDULING),
	...Object.keys(AREAS),
	"http-lifecycle",
	"http-get",
	"http-idle",
	"start",
];

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		store: { type: "string" },
		size: { type: "string", default: "20000" },
		rounds: { type: "string", default: "5" },
		partitions: { type: "string" },
		aof: { type: "string", default: "no" },
		queued: { type: "string", default: "100000" },
		handlers: { type: "string", default: "128" },
		"idle-seconds": { type: "string", default: "60" },
		seed: { type: "string", default: "1" },
		json: { type: "boolean", default: false },
		help: { type: "boolean", default: false },
	},
});
if (values.help) {
	process.stdout.write(HELP);
	process.exit(0);
}

const size = wholeNumber("--size", values.size);
const rounds = wholeNumber("--rounds", values.rounds);
const partitions = wholeNumber("--partitions", values.partitions ?? "1");
const onValkey = Object.keys(VALKEY_SCENARIOS);
const scenarios = positionals.length > 0 ? positionals : [...SCENARIOS, ...onValkey];
const stores: StoreName[] = values.store === undefined ? [...STORES] : [values.store as StoreName];
for (const scenario of scenarios)
	if (![...SCENARIOS, ...onValkey].includes(scenario)) misuse("scenario", scenario, [...SCENARIOS, ...onValkey]);
for (const store of stores) if (!STORES.includes(store)) misuse("--store", store, STORES);

const aof = values.aof as SyncMode;
if (!SYNC_MODES.includes(aof)) misuse("--aof", aof, SYNC_MODES);

const lines: Line[] = [];
let valkey = "not measured";
for (const scenario of scenarios) {
	if (scenario in VALKEY_SCENARIOS) lines.push(...(await measureValkey(scenario as ValkeyScenario)));
	else if (scenario === "start") lines.push(...startLines(rounds, progress));
	else if (scenario in AREAS) for (const store of stores) lines.push(...(await measureArea(scenario, store)));
	else for (const store of stores) lines.push(await measure(scenario, store));
}
const facts = machine({ sqlite: sqliteVersion(), valkey }, wholeNumber("--seed", values.seed));
if (values.json) process.stdout.write(`${JSON.stringify({ machine: facts, lines }, null, "\t")}\n`);
else {
	process.stdout.write(
		`\n${Object.entries(facts)
			.map(([name, value]) => `${name} ${value}`)
			.join(", ")}\n\n${table(lines)}\n`,
	);
}

async function measure(scenario: string, store: StoreName): Promise<Line> {
	progress(`${scenario} on ${store} …`);
	const scheduling = SCHEDULING[scenario];
	if (scheduling) {
		const queued = wholeNumber("--queued", values.queued);
		return scheduling({ store, partitions, rounds, size, queued, progress });
	}
	const http: HttpBench = { store, partitions, rounds, size, progress };
	switch (scenario) {
		case "lifecycle":
			return throughput("lifecycle", store, "lifecycles/s", lifecycle, 0.35);
		case "batch-submit":
			return throughput("batch-submit", store, "executions/s", batchSubmit, 0.6);
		case "dispatch":
			return dispatchLine(store);
		case "http-lifecycle":
			return httpLifecycleLine(http);
		case "http-get":
			return httpGetLine(http);
		case "http-idle":
			return httpIdleLine(http);
		default:
			return backlogLine(store);
	}
}

async function measureArea(area: string, store: StoreName): Promise<Line[]> {
	progress(`${area} on ${store} …`);
	const idleMs = 1000 * wholeNumber("--idle-seconds", values["idle-seconds"]);
	return (await AREAS[area]?.({ store, partitions, rounds, idleMs, progress })) ?? [];
}

/** On a server of its own: what one scenario leaves behind must not slow down the next. */
async function measureValkey(scenario: ValkeyScenario): Promise<Line[]> {
	progress(`${scenario} …`);
	const server = await BenchServer.start(aof);
	valkey = `${server.version}, ${aof === "no" ? "appendonly no" : `appendfsync ${aof}`}`;
	try {
		return await VALKEY_SCENARIOS[scenario]({
			server,
			partitions: wholeNumber("--partitions", values.partitions ?? "8"),
			rounds,
			size,
			queued: wholeNumber("--queued", values.queued),
			handlers: wholeNumber("--handlers", values.handlers),
			idleMs: 1000 * wholeNumber("--idle-seconds", values["idle-seconds"]),
			progress,
		});
	} finally {
		await server.stop();
	}
}

/** Rounds of the scenario, each followed by the bare writes of what it wrote: both see the same machine. */
async function throughput(
	scenario: string,
	store: StoreName,
	unit: string,
	run: (target: Target, count: number) => Promise<number>,
	wanted: number,
): Promise<Line> {
	const figures: number[] = [];
	const limits: number[] = [];
	const cpu: number[] = [];
	const perCommit: number[] = [];
	let written: readonly Unit[] = [];
	let group = 1;
	// The first round warms the code up, and its writes are kept: keeping those of the others would slow them down. Every
	// round has new files: trees that grew cost more.
	for (let round = 0; round <= rounds; round++) {
		const target = await openTarget(store, partitions);
		const recorded = store === "sqlite" && round === 0 ? recordUnits(target.engine.store) : undefined;
		const usage = process.cpuUsage();
		const figure = await run(target, size);
		const { user, system } = process.cpuUsage(usage);
		recorded?.stop();
		if (recorded) {
			written = recorded.units;
			group = recorded.recordsPerCommit();
		}
		const limit = store === "sqlite" ? size / writeBare(join(target.folder, "bare.db"), written, group) : undefined;
		const { units, commits } = target.engine.counters;
		await target.close();
		if (round === 0) continue;
		figures.push(figure);
		cpu.push((user + system) / size);
		perCommit.push(units / commits);
		if (limit !== undefined) limits.push(limit);
		progress(`  round ${round}: ${figure.toFixed(0)}${limit === undefined ? "" : ` of ${limit.toFixed(0)}`}`);
	}
	const figure = median(figures);
	const limit = median(limits);
	return {
		scenario,
		store,
		partitions,
		figure,
		unit,
		...(store === "sqlite"
			? { against: { name: "bare writes", figure: limit, ratio: figure / limit, wanted: `≥ ${wanted}` } }
			: undefined),
		unitsPerCommit: median(perCommit),
		cpuMicros: median(cpu),
	};
}

async function dispatchLine(store: StoreName): Promise<Line> {
	const latencies: number[] = [];
	const medians: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const target = await openTarget(store, partitions);
		const recorded = store === "sqlite" ? recordUnits(target.engine.store) : undefined;
		const { p50 } = await dispatch(target, 2000);
		recorded?.stop();
		if (recorded) {
			const latency = await commitLatency(`sqlite:${join(target.folder, "latency.db")}`, recorded.units);
			if (round > 0) latencies.push(latency);
		}
		if (round > 0) medians.push(p50);
		await target.close();
	}
	const figure = median(medians);
	const limit = median(latencies);
	const against = { name: "one commit", figure: limit, ratio: figure / limit, wanted: "≤ 3" };
	return {
		scenario: "dispatch p50",
		store,
		partitions,
		figure,
		unit: "ms",
		...(store === "sqlite" ? { against } : undefined),
	};
}

async function backlogLine(store: StoreName): Promise<Line> {
	const few: number[] = [];
	const many: number[] = [];
	for (let round = 0; round < rounds; round++) {
		for (const [queued, costs] of [
			[1000, few],
			[100_000, many],
		] as const) {
			const target = await openTarget(store, partitions);
			await backlog(target, 1000, 1000);
			costs.push(await backlog(target, queued, 4000));
			await target.close();
		}
	}
	const figure = median(many);
	const limit = median(few);
	const against = { name: "with 1k queued", figure: limit, ratio: figure / limit, wanted: "≤ 1.3" };
	return { scenario: "claim+complete, 100k queued", store, partitions, figure, unit: "µs", against };
}

function sqliteVersion(): string {
	const db = new BetterSqlite3(":memory:");
	const version = String(db.prepare("SELECT sqlite_version()").pluck().get());
	db.close();
	return version;
}

function wholeNumber(name: string, text: string): number {
	const value = Number(text);
	if (!Number.isInteger(value) || value < 1) misuse(name, text, ["a whole number from 1"]);
	return value;
}

function misuse(name: string, given: string, allowed: readonly string[]): never {
	process.stderr.write(`${name}: must be ${allowed.join(", ")}; got ${given}\n\n${HELP}`);
	process.exit(2);
}

function progress(text: string): void {
	if (!values.json) process.stderr.write(`${text}\n`);
}
