import type { Calls } from "../../src/contract/backend.ts";
import type { Execution } from "../../src/contract/replies.ts";
import type { Caller } from "../../src/engine/calls/session.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import type { TickOutcome } from "../../src/kernel/ticking.ts";
import type { AdmissionBugs } from "./admission-bugs.ts";
import { type FlowBugs, plantInFlows } from "./flow-bugs.ts";
import { plantInReaders, type StreamBugs } from "./stream-bugs.ts";
import { plantInTokens, type SuspensionBugs } from "./suspension-bugs.ts";

/** Bugs the calls, or what an engine remembers between them, can have. */
export interface BackendBugs {
	readsFromCache?: boolean;
	registryFromCache?: boolean;
	readersUnbound?: boolean;
	errandAwaited?: boolean;
}

/** The interface of an engine, with the bugs that are planted in it. */
export function backendOn(
	engine: Engine,
	bugs: BackendBugs & AdmissionBugs & SuspensionBugs & StreamBugs & FlowBugs,
): LocalBackend {
	const backend = new LocalBackend({ engine, actor: "operator", retentionMs: 86_400_000 });
	if (bugs.readsFromCache) remember(backend);
	if (bugs.registryFromCache) rememberWorkers(engine);
	if (bugs.readersUnbound) unbindReaders(backend);
	if (bugs.errandAwaited) awaitErrands(engine);
	if (bugs.settledUnheld) settleLate(engine);
	plantInTokens(engine, bugs);
	plantInReaders(backend, bugs);
	plantInFlows(backend, bugs);
	return backend;
}

/** What a tick starts in other partitions is done before the tick is over. */
function awaitErrands({ runners, lanes }: Engine): void {
	for (const runner of runners) {
		const run = runner.run.bind(runner);
		runner.run = async (...given) => {
			const outcome = await run(...given);
			const { errand } = outcome as Partial<Extract<TickOutcome, { ok: true }>>;
			if (errand?.type === "spread_lane") await lanes.spread(errand.home).catch(() => {});
			return outcome;
		};
	}
}

const LATE_MS = 6000;
/** Before all has to be done in time. */
const LATE_UNTIL = 15_000;

/** Some of what is admitted is settled when nothing holds it any more, which a sound rule refuses. */
function settleLate({ runners, clock }: Engine): void {
	let settled = 0;
	for (const runner of runners) {
		const run = runner.run.bind(runner);
		runner.run = async (...given) => {
			const [{ op }] = given;
			if (op === "settle" && clock.now() < LATE_UNTIL && settled++ % 4 === 0)
				await new Promise<void>((resolve) => clock.setTimer(LATE_MS, resolve));
			return run(...given);
		};
	}
}

function remember({ executions }: LocalBackend): void {
	const { get } = executions;
	const seen = new Map<string, Execution>();
	executions.get = async (id) => {
		const known = seen.get(id);
		if (known) return known;
		const view = await get.call(executions, id);
		seen.set(id, view);
		return view;
	};
}

const REMEMBERED_MS = 5000;

/** Who could serve what waits is asked for now and then only; whoever asks for the workers themselves gets the truth. */
function rememberWorkers({ registry, clock }: Engine): void {
	const read = registry.read.bind(registry);
	const known = new Map<string, { at: number; answer: ReturnType<typeof read> }>();
	registry.read = (namespace) => {
		const last = known.get(namespace);
		if (last && last.at + REMEMBERED_MS > clock.monotonic()) return last.answer;
		const answer = read(namespace);
		known.set(namespace, { at: clock.monotonic(), answer });
		return answer;
	};
}

/** Whoever only looks sees everything. */
function unbindReaders(backend: LocalBackend): void {
	const as = backend.as.bind(backend);
	backend.as = (caller: Caller): Calls => {
		const calls = as(caller);
		const { list, explain } = backend.executions;
		calls.executions.list = (request) => list.call(backend.executions, request);
		calls.executions.explain = (id) => explain.call(backend.executions, id);
		return calls;
	};
}
