import type { FlowSummary, ParentView } from "../../src/contract/replies.ts";
import type { AnyEvent } from "../../src/kernel/events.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { FlowProgressRecord, FlowRecord } from "../../src/kernel/records/flow.ts";
import { isBusyWithLinks, type LinksRecord } from "../../src/kernel/records/links.ts";
import type { Unit } from "../../src/store/port.ts";
import { checkCounts, checkEnd, checkSettled, inAlphabet, summaryOf } from "./flow-checks.ts";
import type { SimPartition } from "./sim-store.ts";
import { Violation } from "./violation.ts";
import { type KnownEdge, WatchedFlow } from "./watched-flow.ts";
import type { World } from "./world.ts";

/** Edges of a member begin with this, by pages. */
const LINKS = /^(ex_\w+)\/e\d+$/;

interface Seen {
	from: number;
	/** Undefined while nobody can see it. */
	summary: string | undefined;
}

/** Watches flows commit by commit, and what callers are told of them. */
export class FlowWatch {
	readonly #world: World;
	readonly #recordOf: (id: string) => ExecutionRecord | undefined;
	readonly all = new Map<string, WatchedFlow>();
	readonly #flowOf = new Map<string, WatchedFlow>();
	/** Members whose edges are still being gone through. */
	readonly #busy = new Set<string>();
	readonly #seen = new Map<string, Seen[]>();
	/** Members that are not shown yet. */
	readonly #hidden = new Map<string, ExecutionRecord>();
	/** By lease: the edges that were satisfied and resolved when it was given. */
	readonly #passed = new Map<string, KnownEdge[]>();
	onSeen: ((what: string) => void) | undefined;

	constructor(world: World, recordOf: (id: string) => ExecutionRecord | undefined) {
		this.#world = world;
		this.#recordOf = (id) => recordOf(id) ?? this.#hidden.get(id);
	}

	/** A member is about to be written, perhaps for the first time. */
	enter(record: ExecutionRecord): void {
		const { id, flowId, member } = record;
		if (member?.isHidden) this.#hidden.set(id, record);
		if (!member || this.#flowOf.has(id)) return;
		const flow = this.#flow(flowId);
		flow.enter(id, member.key);
		this.#flowOf.set(id, flow);
	}

	/** A unit was applied, and all executions in it are known. */
	observe(unit: Unit, events: readonly AnyEvent[]): void {
		const added = new Map<string, KnownEdge>();
		const touched = new Set<WatchedFlow>();
		for (const { key, doc } of unit.put) {
			if (key.startsWith("fl_")) touched.add(this.#noteFlow(key, kernel.decode(key, doc)));
			const [, id] = LINKS.exec(key) ?? [];
			if (id !== undefined) this.#noteLinks(id, key, kernel.decode(key, doc) as LinksRecord, added);
		}
		const late = new Set(events.flatMap((event) => (event.type === "edge_added" ? [event.edgeId] : [])));
		for (const edge of added.values()) if (!late.has(edge.id)) this.#flowOf.get(edge.from)?.connect(edge);
		for (const event of events) {
			const flow = event.flowId === undefined ? undefined : this.all.get(event.flowId);
			if (!flow) continue;
			touched.add(flow);
			const edge = event.type === "edge_added" ? added.get(String(event.edgeId)) : undefined;
			if (edge) flow.connect(edge);
			flow.tell(event);
			this.#note(event, flow);
		}
		for (const key of unit.removed) {
			const gone = this.all.get(key);
			if (!gone) continue;
			gone.flow = undefined;
			touched.add(gone);
		}
		for (const flow of touched) this.#judge(flow);
	}

	#flow(id: string): WatchedFlow {
		const known = this.all.get(id);
		if (known) return known;
		const made = new WatchedFlow(id, this.#recordOf);
		this.all.set(id, made);
		return made;
	}

	#noteFlow(key: string, record: object): WatchedFlow {
		const [id = "", part] = key.split("/");
		const flow = this.#flow(id);
		if (part === undefined) flow.flow = record as FlowRecord;
		if (part === "p") flow.progress = record as FlowProgressRecord;
		return flow;
	}

	#noteLinks(id: string, key: string, links: LinksRecord, added: Map<string, KnownEdge>): void {
		if (key.endsWith("/e0")) this.#busy[isBusyWithLinks(links) ? "add" : "delete"](id);
		const flow = this.#flowOf.get(id);
		for (const { id: edgeId, to, on, passResultAs } of links.out) {
			if (flow?.edges.has(edgeId)) continue;
			added.set(edgeId, {
				id: edgeId,
				from: id,
				to,
				on,
				...(passResultAs === undefined ? undefined : { passResultAs }),
			});
		}
	}

	#note(event: AnyEvent, flow: WatchedFlow): void {
		const { type } = event;
		if (type === "flow_ended") this.onSeen?.(`flows that ended ${event.state}`);
		else if (type === "flow_cancel_requested") this.onSeen?.(`flows cancelled: ${event.policy}`);
		else if (type === "edge_resolved") this.onSeen?.(`edges ${event.state}`);
		else if (type === "flow_reopened" || type === "edge_added" || type === "skipped") this.onSeen?.(type);
		if (type !== "claimed") return;
		const { into = [] } = flow.members.get(event.executionId) ?? {};
		const isPassed = ({ by, passResultAs, from }: KnownEdge) => by && passResultAs && !this.#busy.has(from);
		this.#passed.set(event.leaseId, into.filter(isPassed));
	}

	#judge(watched: WatchedFlow): void {
		const { flow, members } = watched;
		const isVisible = flow !== undefined && !flow.removing && flow.buildUntil === 0;
		const busy = [...members.keys()].filter((id) => this.#busy.has(id)).length;
		if (isVisible && flow) {
			checkCounts(watched, flow, busy, this.#recordOf);
			checkSettled(watched, flow, busy, this.#recordOf);
			checkEnd(watched, flow, this.#recordOf);
		}
		const summary = isVisible && flow ? JSON.stringify(summaryOf(watched, flow, this.#recordOf)) : undefined;
		const seen = this.#seen.get(watched.id) ?? [{ from: 0, summary: undefined }];
		seen.push({ from: this.#world.moment, summary });
		this.#seen.set(watched.id, seen);
	}

	/** Somebody read a flow: undefined when there was none for it. */
	checkRead(id: string, view: FlowSummary | undefined, since: number): void {
		const seen = this.#seen.get(id) ?? [{ from: 0, summary: undefined }];
		let first = seen.length - 1;
		while (first > 0 && (seen[first] as Seen).from > since) first -= 1;
		const { state, counts, nodeCount, edgeCount, revision, sealed } = view ?? {};
		const told =
			view && JSON.stringify({ state, counts: inAlphabet(counts ?? {}), nodeCount, edgeCount, revision, sealed });
		const was = seen.slice(first).map(({ summary }) => summary);
		if (!was.includes(told)) throw new Violation(`reading ${id} gave ${told}; it was ${was.slice(-3).join(" then ")}`);
	}

	/** A claim brought a member with what its upstreams passed to it. */
	checkParents(id: string, leaseId: string, parents: Readonly<Record<string, ParentView>> = {}): void {
		const flow = this.#flowOf.get(id);
		const { into = [], key } = flow?.members.get(id) ?? {};
		for (const { passResultAs = "" } of this.#passed.get(leaseId) ?? []) {
			if (!parents[passResultAs]) throw new Violation(`${flow?.id}: ${key} was not given ${passResultAs}`);
			this.onSeen?.("results passed");
		}
		for (const [name, view] of Object.entries(parents)) {
			const { from, by } = into.find(({ passResultAs }) => passResultAs === name) ?? {};
			const { end, epoch, reason } = by ?? {};
			const isRight =
				view.executionId === from &&
				view.publicState === end &&
				(end !== "completed" || view.result === `${from} ${epoch}`) &&
				(end !== "failed" || view.failure?.reason === reason);
			if (!isRight)
				throw new Violation(
					`${flow?.id}: ${key} was given ${JSON.stringify(view)} as ${name}; ${from} had ended ${end} under ${epoch}: ${reason}`,
				);
		}
	}

	/** Once nothing is under way: whatever can end has, and what is gone left nothing behind. */
	checkAtRest(partitions: readonly SimPartition[]): void {
		for (const { id, flow } of this.all.values()) {
			if (flow && flow.outcome === "") throw new Violation(`stuck: ${JSON.stringify(flow)}`);
			if (flow) continue;
			for (const { records } of partitions)
				for (const key of records.keys())
					if (key.startsWith(id) || this.#flowOf.get(key.split("/")[0] ?? "")?.id === id)
						throw new Violation(`${id} is gone, and ${key} stayed behind`);
		}
	}
}
