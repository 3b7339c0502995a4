import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { CancelPolicy, FlowRecord } from "../../src/kernel/records/flow.ts";
import { hasEnded, type PublicState, publicState } from "../../src/kernel/state.ts";
import { evaluate, type MemberEnd } from "../kernel/flow-evaluator.ts";
import type { PlayedGraph } from "../kernel/flow-play.ts";
import { Violation } from "./violation.ts";
import type { WatchedFlow } from "./watched-flow.ts";

type RecordOf = (id: string) => ExecutionRecord | undefined;

const BAD: ReadonlySet<MemberEnd> = new Set(["failed", "expired", "cancelled"]);

/** How many members are in which state, counted one by one, and what that makes of the flow. */
export function summaryOf({ members, isSealed }: WatchedFlow, flow: FlowRecord, recordOf: RecordOf) {
	const counts: Partial<Record<PublicState, number>> = {};
	const records = [...members.keys()].map(recordOf).filter((record) => record !== undefined);
	const states = records.map(publicState).sort();
	for (const state of states) counts[state] = (counts[state] ?? 0) + 1;
	const { outcome, nodes: nodeCount, edges: edgeCount, revision } = flow;
	const isOver = records.every(hasEnded);
	const waiting = counts.waiting || !isSealed ? "open" : isOver ? "running" : "blocked";
	const living = counts.active ? "running" : waiting;
	return { state: outcome || living, counts, nodeCount, edgeCount, revision, sealed: isSealed };
}

/** Counts in the order of the names of states. */
export const inAlphabet = (counts: Partial<Record<PublicState, number>>) =>
	Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));

/** What a flow has counted of its members is what one counts. */
export function checkCounts(watched: WatchedFlow, flow: FlowRecord, busy: number, recordOf: RecordOf): void {
	const { id, members, edges, progress } = watched;
	const ends = [...members.values()].flatMap(({ end }) => (end ? [end.end] : []));
	const bad = ends.filter((end) => BAD.has(end)).length;
	const { counts } = summaryOf(watched, flow, recordOf);
	const counted = {
		states: inAlphabet(progress.states),
		ended: progress.ended,
		bad: progress.bad,
		busy: progress.busy,
		nodes: flow.nodes,
		edges: flow.edges,
	};
	const real = { states: counts, ended: ends.length, bad, busy, nodes: members.size, edges: edges.size };
	if (JSON.stringify(counted) !== JSON.stringify(real))
		throw new Violation(`${id} counts ${JSON.stringify(counted)}; there are ${JSON.stringify(real)}`);
	for (const [member, { key, end }] of members) {
		const record = recordOf(member);
		if (record && (record.lifecyclePhase === "terminal") !== (end !== undefined))
			throw new Violation(
				`${id}: ${key} is ${publicState(record)}, and its events say ${end?.end ?? "it has not ended"}`,
			);
	}
}

/** With nothing left to go through, no member waits that could run or never will, and no upstream runs on unneeded. */
export function checkSettled(watched: WatchedFlow, flow: FlowRecord, busy: number, recordOf: RecordOf): void {
	const isSettled = busy === 0 && flow.unshown === 0 && flow.sealFrom === 0 && flow.cancelFrom === 0;
	for (const [member, known] of watched.members) {
		const record = recordOf(member);
		if (!record?.member) continue;
		const isSatisfied = watched.isSatisfied(member);
		const isNew = isSatisfied && !known.wasSatisfied;
		known.wasSatisfied = isSatisfied;
		if (isNew && record.member.group.cancelsRemaining && !known.end && !flow.cancel)
			for (const { from } of known.into) if (!watched.members.get(from)?.end) known.owed.add(from);
		if (!isSettled) continue;
		if (!known.end && flow.cancel && !obeys(record, flow.cancel.policy))
			throw new Violation(`${watched.id}: ${known.key} is ${publicState(record)}, and the cancel was to reach it`);
		const { satisfied, impossible } = record.member.group;
		const isWaiting = record.eligibilityState === "blocked_by_dependencies";
		if (isWaiting && isSatisfied) throw new Violation(`${watched.id}: ${known.key} waits, and its group is satisfied`);
		if (isWaiting && watched.isSealed && watched.isImpossible(member))
			throw new Violation(`${watched.id}: ${known.key} waits for what can never be`);
		const real = {
			satisfied: known.into.filter(({ by }) => by).length,
			impossible: known.into.filter(({ by, from }) => !by && watched.members.get(from)?.end).length,
		};
		if (satisfied !== real.satisfied || impossible !== real.impossible)
			throw new Violation(
				`${watched.id}: ${known.key} counts ${satisfied} edges satisfied and ${impossible} impossible; there are ${JSON.stringify(real)}`,
			);
		for (const from of known.owed)
			if (!recordOf(from)?.cancel && !flow.cancel)
				throw new Violation(
					`${watched.id}: ${watched.members.get(from)?.key} runs on, and ${known.key} needs it no more`,
				);
	}
}

/** Whether a member that has not ended is as the cancel of its flow wants it. */
function obeys({ lifecyclePhase, cancel, blockingReason }: ExecutionRecord, policy: CancelPolicy): boolean {
	switch (policy) {
		case "cancel_all":
			return lifecyclePhase === "active" && cancel !== null;
		case "cancel_pending":
			return lifecyclePhase === "active";
		case "flow_only":
			return lifecyclePhase !== "runnable" || blockingReason === "paused_by_flow_cancel";
	}
}

/** A flow ends when all its members have, and as a simple reading of its graph says. */
export function checkEnd(watched: WatchedFlow, flow: FlowRecord, recordOf: RecordOf): void {
	if (flow.outcome === "") return;
	const { id, members, edges, isSealed, isCancelled } = watched;
	const open = [...members.values()].find(({ end }) => !end);
	if (open || !isSealed) throw new Violation(`${id} ended ${flow.outcome} before ${open?.key ?? "it was sealed"}`);
	if (isCancelled) {
		if (flow.outcome !== "cancelled") throw new Violation(`${id} was cancelled and ended ${flow.outcome}`);
		return;
	}
	const keyOf = (member: string) => members.get(member)?.key ?? "";
	const named = [...edges.values()].map(({ from, to, on, by }) => ({ from: keyOf(from), to: keyOf(to), on, by }));
	const graph: PlayedGraph = {
		nodes: [...members.values()].map(({ key }) => key),
		edges: named,
		groups: [...members].flatMap(([member, { key }]) => {
			const { policy, quorum } = recordOf(member)?.member?.group ?? {};
			return policy ? [{ node: key, policy, ...(quorum === undefined ? undefined : { quorum }) }] : [];
		}),
	};
	const ended = new Map([...members.values()].map(({ key, end }) => [key, end?.end ?? "skipped"]));
	const ends = new Map([...ended].filter(([, end]) => end !== "skipped"));
	const kept = new Map(named.flatMap(({ from, to, by }) => (by ? [[`${from} ${to}`, by.end]] : [])));
	const expected = evaluate(graph, inOrder(watched), ends, ({ from, to }) => kept.get(`${from} ${to}`));
	for (const [key, end] of ended)
		if (expected.states[key] !== end)
			throw new Violation(`${id}: ${key} ended ${end}; by the graph it is ${expected.states[key]}`);
	if (flow.outcome !== expected.outcome)
		throw new Violation(`${id} ended ${flow.outcome}; by the graph it is ${expected.outcome}`);
}

/** Keys of members, every one behind all that lead to it. */
function inOrder({ members }: WatchedFlow): string[] {
	const order: string[] = [];
	const left = new Map([...members].map(([id, { into }]) => [id, into.length]));
	const ready = [...left].flatMap(([id, count]) => (count === 0 ? [id] : []));
	for (const id of ready) {
		const { key = "", outOf = [] } = members.get(id) ?? {};
		order.push(key);
		for (const { to } of outOf) {
			const count = (left.get(to) ?? 0) - 1;
			left.set(to, count);
			if (count === 0) ready.push(to);
		}
	}
	return order;
}
