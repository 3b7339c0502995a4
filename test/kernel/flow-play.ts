import { auditFlow, type WholeMember } from "../../src/kernel/flows/auditing.ts";
import { type GivenEdge, type GivenGroup, orderGraph } from "../../src/kernel/flows/graph.ts";
import { isUnreachable } from "../../src/kernel/flows/groups.ts";
import { planFlow } from "../../src/kernel/flows/planning.ts";
import { makeId } from "../../src/kernel/ids.ts";
import { DUE_QUEUE } from "../../src/kernel/placement.ts";
import { type ExecutionRecord, executionKey } from "../../src/kernel/records/execution.ts";
import {
	type CancelPolicy,
	type FlowMemberEntry,
	type FlowRecord,
	flowKey,
	flowMembersKey,
	flowProgressDefaults,
	flowProgressKey,
	MEMBERS_PER_PAGE,
} from "../../src/kernel/records/flow.ts";
import { LINKS_PER_PAGE, linksDefaults, linksKey } from "../../src/kernel/records/links.ts";
import { publicState } from "../../src/kernel/state.ts";
import { claimOne } from "./claim-command.ts";
import { MapPartition } from "./map-tx.ts";

export interface PlayedGraph {
	nodes: readonly string[];
	edges?: readonly (Partial<GivenEdge> & Pick<GivenEdge, "from" | "to">)[];
	groups?: readonly (GivenGroup & { node: string })[];
	isSealed?: boolean;
}

let minted = 0;
const uuid = (): string => (++minted).toString(16).padStart(32, "0");

/** One flow in a partition of its own, played by hand: nothing happens but what a test does, and what follows from it. */
export class FlowPlay {
	readonly partition = new MapPartition();
	readonly flowId = makeId("fl", uuid(), 7);
	readonly ids = new Map<string, string>();
	now = 1000;

	/** Writes a flow in one step, or in as many as it has parts. */
	constructor({ nodes, edges = [], groups = [], isSealed = true }: PlayedGraph, { inParts = false } = {}) {
		const given = edges.map((edge) => ({ on: "success" as const, ...edge }));
		const graph = orderGraph({ nodes, edges: given, groups, isSealed });
		if ("ok" in graph) throw new Error(`${graph.code} ${JSON.stringify(graph.details)}`);
		for (const key of nodes) this.ids.set(key, makeId("ex", uuid(), 7));
		const named = nodes.map((key) => ({ key, work: this.work(key), ...(isSealed ? undefined : { bodyHash: key }) }));
		const parts = planFlow(
			named,
			graph,
			graph.edges.map(() => makeId("ed", uuid(), 7)),
		);
		const [whole] = parts;
		const isWhole = whole !== undefined && parts.length === 1 && !inParts;
		this.run({
			op: "createFlow",
			flowId: this.flowId,
			kind: "play",
			namespace: "default",
			retentionMs: 1000,
			createdBy: "me",
			nodes: nodes.length,
			edges: graph.edges.length,
			isSealed,
			unreachable: graph.groups.filter(isUnreachable).length,
			actor: "me",
			...(isWhole ? { whole } : undefined),
		});
		if (isWhole) return;
		for (const [n, part] of parts.entries())
			this.run({ op: "buildFlow", flowId: this.flowId, part, isLast: n === parts.length - 1, actor: "me" });
	}

	work(key: string) {
		return {
			executionId: this.ids.get(key) ?? makeId("ex", uuid(), 7),
			kind: "job",
			namespace: "default",
			lane: "default",
			priority: 0,
			policy: {},
			input: null,
			createdBy: "me",
			retentionMs: 1000,
		};
	}

	run(command: Parameters<MapPartition["run"]>[0]) {
		const outcome = this.partition.run(command as never, this.now);
		if (!outcome.ok) throw new Error(`${command.op}: ${outcome.code}`);
		this.#audit(command.op);
		return outcome;
	}

	/** Whatever was done, the flow is what its members say. */
	#audit(op: string): void {
		const flow = this.partition.read(flowKey(this.flowId));
		if (!flow || flow.removing || flow.buildUntil > 0) return;
		const pages = Array.from({ length: Math.ceil(flow.nodes / MEMBERS_PER_PAGE) }, (_, n) =>
			this.partition.read(flowMembersKey(this.flowId, n)),
		);
		const members = pages.flatMap((page) => page?.members ?? []).map((entry) => this.#whole(entry));
		const problems = auditFlow({ flow, progress: this.progress ?? flowProgressDefaults, members });
		if (problems.length > 0) throw new Error(`after ${op}: ${problems.join("; ")}`);
	}

	#whole(entry: FlowMemberEntry): WholeMember {
		const { executionId } = entry;
		const links = this.partition.read(linksKey(executionId)) ?? linksDefaults;
		const count = Math.ceil(Math.max(links.outs, links.ins) / LINKS_PER_PAGE);
		const pages = Array.from({ length: count }, (_, n) => this.partition.read(linksKey(executionId, n)));
		const record = this.partition.read(executionKey(executionId));
		return {
			entry,
			record,
			links,
			out: pages.flatMap((page) => page?.out ?? []),
			in: pages.flatMap((page) => page?.in ?? []),
		};
	}

	get flow(): FlowRecord {
		const flow = this.partition.read(flowKey(this.flowId));
		if (!flow) throw new Error("the flow is gone");
		return flow;
	}

	get progress() {
		return this.partition.read(flowProgressKey(this.flowId));
	}

	record(key: string): ExecutionRecord {
		const record = this.partition.read(executionKey(this.ids.get(key) ?? ""));
		if (!record) throw new Error(`${key} is gone`);
		return record;
	}

	state(key: string): string {
		return publicState(this.record(key));
	}

	states(): Record<string, string> {
		return Object.fromEntries([...this.ids.keys()].map((key) => [key, this.state(key)]));
	}

	/** Performs whatever is due, in any order `choose` likes, until nothing is. */
	settle(choose: (count: number) => number = () => 0): void {
		for (let n = 0; n < 100_000; n++) {
			const due = this.partition.queue(DUE_QUEUE).filter(({ score }) => score <= this.now);
			const entry = due[choose(due.length)];
			if (!entry) return;
			this.tick(entry.key);
		}
		throw new Error("something stays due");
	}

	tick(key: string): void {
		this.run({ op: "tick", key, writableSince: 0, jitter: 0 });
	}

	/** Claims one member by its key, which must be the first in the queue or the only one wanted. */
	claimAll(): ExecutionRecord[] {
		const work = { namespace: "default", lane: "default", kind: "job", requiredCapabilities: [] };
		const claimed = this.run(claimOne(work, ++minted, { leaseMs: 1e9 })) as unknown as {
			executions: ExecutionRecord[];
		};
		return claimed.executions;
	}

	end(record: ExecutionRecord, how: "complete" | "fail"): void {
		const { id: executionId, lease } = record;
		const fence = { leaseId: lease?.id ?? "", epoch: lease?.epoch ?? 0 };
		if (how === "complete") this.run({ op: "complete", executionId, fence, result: null });
		else this.run({ op: "fail", executionId, fence, reason: "no", category: "error", jitter: 0 } as never);
	}

	cancel(key: string): void {
		this.run({
			op: "cancel",
			executionId: this.ids.get(key) ?? "",
			mode: "force",
			graceMs: 0,
			actor: "op",
		} as never);
	}

	cancelFlow(policy: CancelPolicy): void {
		this.run({ op: "cancelFlow", flowId: this.flowId, policy, mode: "force", graceMs: 0, actor: "op" } as never);
	}

	/** Runs whatever can run until nothing can; `how` says how each ends. */
	play(how: (key: string) => "complete" | "fail", choose: (count: number) => number = () => 0): string[] {
		const ran: string[] = [];
		for (let n = 0; n < 10_000; n++) {
			this.settle(choose);
			const [record] = this.claimAll();
			if (!record) return ran;
			ran.push(record.member?.key ?? "");
			this.end(record, how(record.member?.key ?? ""));
		}
		throw new Error("it never ends");
	}
}
