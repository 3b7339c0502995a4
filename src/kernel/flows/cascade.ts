import { cancellation, change, ending } from "../changing.ts";
import { DEFAULT_GRACE_MS } from "../policy.ts";
import { amendExecution, type ExecutionRecord, executionKey, type Group, type Member } from "../records/execution.ts";
import type { EdgeEnd, EdgeState, OutEdge } from "../records/links.ts";
import { hasEnded, publicState } from "../state.ts";
import type { FlowStep } from "./flow-step.ts";
import { edgeStateAfter, isImpossible, isSatisfied } from "./groups.ts";
import { endOf, inEdge, linksOf, outEdge, putInEdge, putOutEdge, putTasks } from "./member-links.ts";
import { isBad, isWaitingForGroup, withPassed } from "./members.ts";
import { askToStop, obeyCancel } from "./obeying.ts";
import { startWaiting, stopWaiting } from "./waiting.ts";

/** Edges gone through in one step; the rest follows in ticks, so no unit grows with the graph. */
const EDGES_PER_STEP = 64;

/** A member that waits again, and how it had ended. */
interface Reopened {
	record: ExecutionRecord;
	after: EdgeEnd;
}

/** What the end of a member, or its being opened again, means to those downstream, and to those behind them. */
export class Cascade {
	readonly #step: FlowStep;
	#room = EDGES_PER_STEP;
	readonly #ended: ExecutionRecord[] = [];
	readonly #reopened: Reopened[] = [];

	constructor(step: FlowStep) {
		this.#step = step;
	}

	/** A member has ended. */
	ended(record: ExecutionRecord): void {
		this.#step.count({ ended: 1, bad: Number(isBad(record)) });
		if (record.member?.hasLinks) this.#ended.push(record);
	}

	/** A member that had ended waits again; `before` is how it ended. */
	reopened(before: ExecutionRecord, record: ExecutionRecord): void {
		this.#step.count({ ended: -1, bad: -Number(isBad(before)) });
		if (record.member?.hasLinks) this.#reopened.push({ record, after: endOf(before) });
	}

	/** Goes as far as there is room. What is left is due at once. */
	run(): void {
		for (let next = this.#reopened.shift(); next; next = this.#reopened.shift()) {
			const { outs, resolveFrom, reopenFrom } = linksOf(this.#step.tx, next.record.id);
			// What its end had yet to resolve stays open.
			if (resolveFrom >= 0) putTasks(this.#step, next.record.id, { resolveFrom: -1 });
			// And that is all of it while an earlier replay is still being gone through.
			if (reopenFrom < 0) this.#reopen(next.record, 0, resolveFrom >= 0 ? resolveFrom : outs, next.after);
		}
		for (let next = this.#ended.shift(); next; next = this.#ended.shift()) {
			// What was opened by its replay and not yet gone through comes first.
			if (linksOf(this.#step.tx, next.id).reopenFrom >= 0) putTasks(this.#step, next.id, { resolveFrom: 0 });
			else this.#resolve(next, 0);
		}
	}

	/** Goes on with what was left to be done with a member's edges. */
	continue(record: ExecutionRecord): void {
		const { reopenFrom, reopenTo, reopenAfter, resolveFrom, remainingFrom } = linksOf(this.#step.tx, record.id);
		if (reopenFrom >= 0) this.#reopen(record, reopenFrom, reopenTo, reopenAfter ?? endOf(record));
		else if (resolveFrom >= 0) this.#resolve(record, resolveFrom);
		else if (remainingFrom >= 0) this.#cancelRemaining(record, remainingFrom);
		this.run();
	}

	#resolve(upstream: ExecutionRecord, from: number): void {
		const { tx } = this.#step;
		const { outs, resolveFrom } = linksOf(tx, upstream.id);
		const end = endOf(upstream);
		let isHeeded = false;
		let index = from;
		for (; index < outs && this.#room > 0; index++) {
			const edge = outEdge(tx, upstream.id, index);
			if (!edge || edge.isKept) continue;
			this.#room -= 1;
			const state = edgeStateAfter(edge.on, end);
			this.resolved(upstream, edge, state);
			isHeeded ||= state === "satisfied";
		}
		if (isHeeded) this.heeded(upstream);
		const left = index < outs ? index : -1;
		if (left !== resolveFrom) putTasks(this.#step, upstream.id, { resolveFrom: left });
	}

	/** Somebody downstream wanted to know that it ended so. */
	heeded({ id }: ExecutionRecord): void {
		const { tx } = this.#step;
		const record = tx.get(executionKey(id));
		if (!record?.member || !isBad(record)) return;
		tx.put(executionKey(id), amendExecution(record, { member: { ...record.member, isHeeded: true } }));
	}

	/** An edge was resolved: its downstream may run, or never will. */
	resolved(upstream: ExecutionRecord, edge: OutEdge, state: EdgeState): void {
		const { tx, flow } = this.#step;
		const down = tx.get(executionKey(edge.to));
		if (!down?.member) return;
		let { member: before } = down;
		if (edge.passResultAs !== undefined && state === "satisfied") {
			const entry = { from: upstream.id, passResultAs: edge.passResultAs, end: publicState(upstream) };
			const attempt = upstream.attempt ? { attempt: upstream.attempt.index } : undefined;
			putInEdge(tx, down.id, edge.place, { ...entry, ...attempt });
			before = withPassed(before, upstream);
		}
		this.#step.tell({ type: "edge_resolved", edgeId: edge.id, from: upstream.member?.key, to: down.member.key, state });
		const { group } = before;
		const counted: Group =
			state === "satisfied"
				? { ...group, satisfied: group.satisfied + 1 }
				: { ...group, impossible: group.impossible + 1 };
		const member = { ...before, group: counted };
		if (!isWaitingForGroup(down)) tx.put(executionKey(down.id), amendExecution(down, { member }));
		else if (isSatisfied(counted)) this.release(down, member);
		else if (flow.isSealed && isImpossible(counted)) this.skip(down, member);
		else tx.put(executionKey(down.id), amendExecution(down, { member }));
	}

	/** Its group is satisfied. */
	release(record: ExecutionRecord, member: Member): void {
		const { tx, flow, deed } = this.#step;
		const next = stopWaiting(tx, record, member, deed);
		if (flow.cancel) obeyCancel(this.#step, this, next, flow.cancel);
		if (member.group.cancelsRemaining && member.hasLinks) putTasks(this.#step, record.id, { remainingFrom: 0 });
	}

	/** Its group can no longer be satisfied. */
	skip(record: ExecutionRecord, member: Member): void {
		const { tx, flow, deed } = this.#step;
		// Whatever waited in a cancelled flow was cancelled, in whatever order its members are reached.
		if (flow.cancel && flow.cancel.policy !== "flow_only")
			return obeyCancel(this.#step, this, amendExecution(record, { member }), flow.cancel);
		const changes = ending(record, "skipped", deed.now, "cancel");
		changes.member = member;
		this.ended(
			change(tx, record, changes, deed, [{ type: "skipped", reason: "its group can no longer be satisfied" }]),
		);
	}

	/** Edges up to `to` had been resolved by an end. Those it satisfied stay so; the others are open again. */
	#reopen(upstream: ExecutionRecord, from: number, to: number, after: EdgeEnd): void {
		const { tx } = this.#step;
		const { reopenFrom } = linksOf(tx, upstream.id);
		let index = from;
		for (; index < to && this.#room > 0; index++) {
			const edge = outEdge(tx, upstream.id, index);
			if (!edge || edge.isKept) continue;
			this.#room -= 1;
			if (edgeStateAfter(edge.on, after) === "satisfied") putOutEdge(tx, upstream.id, index, { ...edge, isKept: true });
			else this.#reopenDownstream(edge);
		}
		if (index < to) putTasks(this.#step, upstream.id, { reopenFrom: index, reopenTo: to, reopenAfter: after });
		else if (reopenFrom >= 0) putTasks(this.#step, upstream.id, { reopenFrom: -1, reopenTo: 0, reopenAfter: null });
	}

	#reopenDownstream({ to }: OutEdge): void {
		const { tx, deed } = this.#step;
		const down = tx.get(executionKey(to));
		if (!down?.member) return;
		const { group } = down.member;
		const member = { ...down.member, group: { ...group, impossible: group.impossible - 1 } };
		if (down.terminalOutcome !== "skipped" || isImpossible(member.group)) {
			tx.put(executionKey(to), amendExecution(down, { member }));
			return;
		}
		this.reopened(down, startWaiting(tx, down, member, deed, { completedAt: 0, deadlineFrom: deed.now }));
	}

	/** Whatever a satisfied group would still have waited for has nothing to run for. */
	#cancelRemaining(record: ExecutionRecord, from: number): void {
		const { tx } = this.#step;
		const { ins, remainingFrom } = linksOf(tx, record.id);
		let index = from;
		for (; index < ins && this.#room > 0; index++) {
			const edge = inEdge(tx, record.id, index);
			const upstream = edge && tx.get(executionKey(edge.from));
			if (!upstream || hasEnded(upstream)) continue;
			this.#room -= 1;
			this.#spare(upstream, record);
		}
		const left = index < ins ? index : -1;
		if (left !== remainingFrom) putTasks(this.#step, record.id, { remainingFrom: left });
	}

	#spare(record: ExecutionRecord, downstream: ExecutionRecord): void {
		if (record.cancel) return;
		const { tx, deed } = this.#step;
		const reason = `${downstream.member?.key} needs no more of its upstreams`;
		const asked = { source: "flow", requestedAt: deed.now, reason, isSpared: true } as const;
		if (!record.lease) {
			const { changes, event } = cancellation(amendExecution(record, { cancel: asked }), "cancel", deed);
			this.ended(change(tx, record, changes, deed, [event]));
			return;
		}
		askToStop(this.#step, record, asked, DEFAULT_GRACE_MS);
	}
}
