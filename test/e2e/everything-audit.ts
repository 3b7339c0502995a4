import type { ExecutionEvent, FlowFabric } from "../../src/index.ts";
import type { Ledger } from "./everything-ledger.ts";

/** What is wrong, one line each; empty when nothing is. */
export interface Audited {
	acknowledged: number;
	/** What was acknowledged and is not there, or not as it was acknowledged. */
	lost: string[];
	/** What counted twice. */
	doubled: string[];
	/** What did not end. */
	stuck: string[];
}

const END_WITHIN_MS = 60_000;
const TOKENS_EACH = 7;
const AT_ONCE = 16;
const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "expired", "skipped"]);

/** Compares what a store has with what was acknowledged, once all of it should have ended. */
export async function audit(ff: FlowFabric, ledger: Ledger): Promise<Audited> {
	const found: Audited = { acknowledged: ledger.submitted.size, lost: [], doubled: [], stuck: [] };
	const left = [...ledger.submitted];
	const judge = async () => {
		for (let one = left.pop(); one; one = left.pop()) await judgeExecution(ff, ledger, found, ...one);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, judge));
	await judgeGuards(ff, found);
	return found;
}

async function judgeExecution(
	ff: FlowFabric,
	ledger: Ledger,
	found: Audited,
	id: string,
	kind: string,
): Promise<unknown> {
	const name = `${kind} ${id}`;
	const execution = await ff.wait(id, { timeoutMs: END_WITHIN_MS }).catch(String);
	if (typeof execution === "string") return found.lost.push(`${name}: ${execution}`);
	if (execution.state.lifecyclePhase !== "terminal")
		return found.stuck.push(`${name}: ${execution.publicState}, ${execution.blockingDetail}`);
	if (execution.publicState !== "completed")
		return found.lost.push(`${name}: ${execution.publicState} ${JSON.stringify(execution.failure)}`);
	const { events } = await ff.events(id, { limit: 1000 });
	for (const problem of doubledIn(events)) found.doubled.push(`${name}: ${problem}`);
	const result = await ff.result(id);
	if (kind === "asking") judgeAnswer(ledger, found, { id, events, result });
	if (kind === "streaming") await judgeFrames(ff, ledger, found, id);
	if (kind === "asking" || kind === "stepping") await judgeSteps(ff, ledger, found, id);
	const expected = EXPECTED[kind];
	if (expected === undefined || result === expected) return undefined;
	return found.lost.push(`${name}: gave ${JSON.stringify(result)}`);
}

/** Of kinds whose results are the same each time. */
const EXPECTED: Record<string, unknown> = { guarded: TOKENS_EACH, parent: 6, flaky: "second time", flow: 5 };

/** Ends but one, and leases that begin before the last one is over or under a number that was used. */
function doubledIn(events: readonly ExecutionEvent[]): string[] {
	const problems: string[] = [];
	const ends = events.filter(({ type }) => ENDS.has(type)).length;
	if (ends !== 1) problems.push(`ended ${ends} times`);
	let epoch = 0;
	let isLive = false;
	for (const event of events) {
		if (event.type !== "claimed") {
			// What ends a lease says which.
			if ("epoch" in event && event.epoch === epoch) isLive = false;
			continue;
		}
		if (isLive) problems.push(`was leased again as ${event.epoch} while ${epoch} was live`);
		if (event.epoch !== epoch + 1) problems.push(`lease ${event.epoch} followed lease ${epoch}`);
		epoch = event.epoch;
		isLive = true;
	}
	return problems;
}

interface Answered {
	id: string;
	events: readonly ExecutionEvent[];
	result: unknown;
}

function judgeAnswer({ answered }: Ledger, { lost, doubled }: Audited, { id, events, result }: Answered): void {
	const { payload } = result as { payload?: unknown };
	const expected = answered.get(id) ?? payload;
	if (payload !== expected) lost.push(`asking ${id}: was answered ${expected} and got ${payload}`);
	for (const type of ["signalled", "resumed"]) {
		const times = events.filter((event) => event.type === type).length;
		if (times > 1) doubled.push(`asking ${id}: ${type} ${times} times`);
	}
}

async function judgeSteps(ff: FlowFabric, { kept }: Ledger, { lost, doubled }: Audited, id: string): Promise<void> {
	const { steps } = await ff.steps(id, { limit: 1000, values: true });
	const recorded = new Map(steps.map(({ name, result }) => [name, String(result)]));
	if (recorded.size !== steps.length) doubled.push(`${id}: a step is recorded twice`);
	for (const [key, values] of kept) {
		const [owner, name = ""] = key.split(" ");
		if (owner !== id) continue;
		if (values.size > 1) doubled.push(`${id}: step ${name} gave ${[...values].join(" and ")}`);
		for (const value of values)
			if (recorded.get(name) !== value) lost.push(`${id}: step ${name} was ${value} and is ${recorded.get(name)}`);
	}
}

async function judgeFrames(ff: FlowFabric, ledger: Ledger, { lost, doubled }: Audited, id: string): Promise<void> {
	const stored: string[] = [];
	for (const { index } of await ff.attempts(id)) {
		const { frames } = await ff.streams.read(id, index);
		stored.push(...frames.filter(({ mode }) => mode === "durable").map(({ text = "" }) => text));
	}
	const kept = new Set(stored);
	if (kept.size !== stored.length) doubled.push(`${id}: of ${stored.length} frames ${kept.size} differ`);
	for (const text of ledger.framed.get(id) ?? []) if (!kept.has(text)) lost.push(`${id}: frame ${text}`);
	const tailed = ledger.tailed.get(id);
	if (tailed && tailed.join() !== stored.join())
		(new Set(tailed).size < tailed.length ? doubled : lost).push(
			`${id}: its tail gave ${tailed.length} frames, its streams have ${stored.length}`,
		);
}

/** Every execution that was paid for is in the ledger with what it spent, and nothing is held any more. */
async function judgeGuards(ff: FlowFabric, { lost, doubled, stuck }: Audited): Promise<void> {
	let spent = 0;
	let cursor: string | undefined;
	do {
		const page = await ff.budgets.ledger("team", { limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
		for (const { executionId, dims, reserved } of page.entries) {
			const { tokens = 0 } = dims;
			spent += tokens;
			if (tokens > TOKENS_EACH) doubled.push(`${executionId} spent ${tokens} tokens`);
			if (Object.values(reserved ?? {}).some((amount) => amount > 0)) stuck.push(`${executionId} holds a reservation`);
		}
		cursor = page.nextCursor;
	} while (cursor !== undefined);
	const paid = await countOf(ff, "guarded");
	if (spent !== paid * TOKENS_EACH) lost.push(`${paid} executions spent ${spent} tokens`);
	const { dimensions, waiting } = await ff.budgets.get("team");
	const { used = 0, reserved = 0 } = dimensions["tokens"] ?? {};
	if (used !== spent || reserved !== 0 || waiting !== 0)
		stuck.push(`budget team: used ${used} of a ledger of ${spent}, reserved ${reserved}, waiting ${waiting}`);
	const quota = await ff.quotas.get("provider");
	if (quota.concurrency?.held !== 0 || quota.waiting !== 0)
		stuck.push(`quota provider: held ${quota.concurrency?.held}, waiting ${quota.waiting}`);
}

async function countOf(ff: FlowFabric, kind: string): Promise<number> {
	let count = 0;
	let cursor: string | undefined;
	do {
		const page = await ff.list({ kind, limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
		count += page.executions.length;
		cursor = page.nextCursor;
	} while (cursor !== undefined);
	return count;
}
