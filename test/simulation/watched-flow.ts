import type { AnyEvent } from "../../src/kernel/events.ts";
import type { ExecutionRecord, Group } from "../../src/kernel/records/execution.ts";
import { type FlowProgressRecord, type FlowRecord, flowProgressDefaults } from "../../src/kernel/records/flow.ts";
import type { EdgeCondition } from "../../src/kernel/records/links.ts";
import { type MemberEnd, satisfiedBy } from "../kernel/flow-evaluator.ts";
import { Violation } from "./violation.ts";

/** How a member ended once. */
export interface KnownEnd {
	end: MemberEnd;
	/** The lease under which it did, and why it failed. */
	epoch: unknown;
	reason: unknown;
}

export interface KnownEdge {
	id: string;
	/** Executions. */
	from: string;
	to: string;
	on: EdgeCondition;
	passResultAs?: string;
	/** The first end of its upstream that satisfied it: it stays so whatever comes later. */
	by?: KnownEnd;
}

export interface KnownMember {
	id: string;
	key: string;
	/** While it has ended. */
	end?: KnownEnd;
	into: KnownEdge[];
	outOf: KnownEdge[];
	/** Whether its group was satisfied when this was last looked at. */
	wasSatisfied: boolean;
	/** Upstreams that are to be told to stop, since the group needs them no more. */
	owed: Set<string>;
}

/** What a satisfied group says to whoever it needs no more. */
const SPARED = / needs no more of its upstreams$/;

const ENDS: Partial<Record<string, MemberEnd>> = {
	completed: "completed",
	failed: "failed",
	expired: "expired",
	cancelled: "cancelled",
	skipped: "skipped",
};

/** A flow as its events tell of it: who ended when, and which edges that satisfied. Nothing that rules counted is believed. */
export class WatchedFlow {
	readonly id: string;
	flow: FlowRecord | undefined;
	progress: FlowProgressRecord = flowProgressDefaults;
	isSealed = false;
	isCancelled = false;
	readonly members = new Map<string, KnownMember>();
	readonly edges = new Map<string, KnownEdge>();
	readonly #groupOf: (id: string) => Group | undefined;

	constructor(id: string, recordOf: (id: string) => ExecutionRecord | undefined) {
		this.id = id;
		this.#groupOf = (member) => recordOf(member)?.member?.group;
	}

	enter(id: string, key: string): void {
		this.#member(id).key = key;
	}

	/** An edge that is there from now on; one whose upstream has ended is resolved at once. */
	connect(edge: KnownEdge): void {
		if (this.edges.has(edge.id)) return;
		this.edges.set(edge.id, edge);
		const { end } = this.#member(edge.from);
		if (end && satisfiedBy(edge.on, end.end)) edge.by = end;
		this.#member(edge.from).outOf.push(edge);
		this.#member(edge.to).into.push(edge);
	}

	/** What happened next. Members are judged by what was so until then. */
	tell(event: AnyEvent): void {
		if (event.executionId === undefined) {
			if (event.type === "sealed" || (event.type === "flow_created" && event.sealed)) this.isSealed = true;
			if (event.type === "flow_cancel_requested") this.isSealed = this.isCancelled = true;
			return;
		}
		const member = this.members.get(event.executionId);
		if (!member) return;
		const end = ENDS[event.type];
		if (event.type === "claimed") this.#checkMayRun(member);
		else if (event.type === "skipped") this.#checkMaySkip(member);
		else if (event.type === "replayed") delete member.end;
		else if (event.type === "blocked" && event.reason === "waiting_for_children") delete member.end;
		if (!end) return;
		const isSpared = event.type === "cancelled" && event.source === "flow" && SPARED.test(String(event.reason));
		if (isSpared) this.#checkMaySpare(member);
		this.#end(member, {
			end: isSpared ? "spared" : end,
			epoch: "epoch" in event ? event.epoch : undefined,
			reason: "reason" in event ? event.reason : undefined,
		});
	}

	#end(member: KnownMember, end: KnownEnd): void {
		member.end = end;
		for (const edge of member.outOf) {
			this.#member(edge.to).owed.delete(member.id);
			if (!edge.by && satisfiedBy(edge.on, end.end)) edge.by = end;
		}
	}

	#checkMayRun({ id, key }: KnownMember): void {
		if (!this.isSatisfied(id)) throw new Violation(`${this.id}: ${key} was claimed before its group is satisfied`);
		if (this.isCancelled) throw new Violation(`${this.id}: ${key} was claimed after the flow was cancelled`);
		if (this.flow?.buildUntil) throw new Violation(`${this.id}: ${key} was claimed before the flow is whole`);
	}

	#checkMaySkip({ id, key }: KnownMember): void {
		if (!this.isSealed || !this.isImpossible(id))
			throw new Violation(`${this.id}: ${key} was skipped, and its group could still be satisfied`);
	}

	#checkMaySpare({ key, outOf }: KnownMember): void {
		const isNeeded = ({ to }: KnownEdge) => !this.#groupOf(to)?.cancelsRemaining || !this.isSatisfied(to);
		if (outOf.every(isNeeded)) throw new Violation(`${this.id}: ${key} was cancelled, and was still needed`);
	}

	isSatisfied(id: string): boolean {
		return this.#member(id).into.filter(({ by }) => by).length >= this.#neededBy(id);
	}

	/** If no edge is added. */
	isImpossible(id: string): boolean {
		const { into } = this.#member(id);
		const open = into.filter((edge) => edge.by || !this.#member(edge.from).end);
		return open.length < this.#neededBy(id);
	}

	#neededBy(id: string): number {
		const { policy = "all_of", quorum = 1 } = this.#groupOf(id) ?? {};
		if (policy === "all_of") return this.#member(id).into.length;
		return policy === "any_of" ? 1 : quorum;
	}

	/** One that edges lead to may be written after them. */
	#member(id: string): KnownMember {
		const known = this.members.get(id);
		if (known) return known;
		const member: KnownMember = { id, key: "", into: [], outOf: [], wasSatisfied: false, owed: new Set() };
		this.members.set(id, member);
		return member;
	}
}
