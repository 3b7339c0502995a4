import { expect } from "vitest";
import type { CreateFlowRequest, EdgeRequest, NodeRequest } from "../../src/contract/flows.ts";
import type { CreatedFlow, FlowView } from "../../src/contract/replies.ts";
import type { ClaimRequest, PublicState } from "../../src/index.ts";
import type { Held, Scene } from "./scene.ts";

type GivenEdge = NonNullable<CreateFlowRequest["edges"]>[number];

/** A flow as cases write it down: a node by its key alone, an edge as a line of text. */
export interface DrawnFlow extends Omit<CreateFlowRequest, "nodes" | "edges"> {
	nodes?: readonly (string | (Partial<NodeRequest> & { key: string }))[];
	edges?: readonly string[];
}

const EDGE_FORM = /^(\S+) > (\S+?)(?: on (\S+))?(?: as (\S+))?$/;

/** "a > b", "a > b on failure", "a > b on completion as name". */
export function edge(line: string): GivenEdge {
	const [, from = "", to = "", on, passResultAs] = EDGE_FORM.exec(line) ?? [];
	return {
		from,
		to,
		...(on === undefined ? undefined : { on: on as NonNullable<GivenEdge["on"]> }),
		...(passResultAs === undefined ? undefined : { passResultAs }),
	};
}

/** A node has its key as its kind, unless it says otherwise: so it can be claimed by name. */
const node = (given: string | (Partial<NodeRequest> & { key: string })): NodeRequest =>
	typeof given === "string" ? { key: given, kind: given } : { kind: given.key, ...given };

export const drawn = ({ nodes = [], edges = [], ...rest }: DrawnFlow): CreateFlowRequest => ({
	...rest,
	nodes: nodes.map(node),
	...(edges.length > 0 ? { edges: edges.map(edge) } : undefined),
});

/** `n0`, `n1` and so on. */
export const numbered = (count: number, letter = "n"): string[] => Array.from({ length: count }, (_, n) => letter + n);

/** Each leads to the next. */
export const chain = (keys: readonly string[]): string[] => keys.slice(1).map((to, n) => `${keys[n]} > ${to}`);

/** A flow that a case made, and words for what cases do with it. */
export class FlowAtWork {
	readonly scene: Scene;
	readonly id: string;
	readonly nodes: Record<string, string>;
	revision: number;

	constructor(scene: Scene, { id, nodes, revision }: CreatedFlow) {
		this.scene = scene;
		this.id = id;
		this.nodes = { ...nodes };
		this.revision = revision;
	}

	/** The execution of a node. */
	idOf(key: string): string {
		const id = this.nodes[key];
		if (id === undefined) throw new Error(`no node ${key}`);
		return id;
	}

	async take(key: string, request: Partial<ClaimRequest> = {}): Promise<Held> {
		const held = await this.scene.take({ kinds: [key], leaseMs: 3_600_000, ...request });
		expect(held.id).toBe(this.idOf(key));
		return held;
	}

	/** Claims and completes nodes, one after the other. */
	async complete(...keys: string[]): Promise<void> {
		for (const key of keys) await this.completeWith(key, undefined);
	}

	async completeWith(key: string, result: unknown): Promise<Held> {
		const held = await this.take(key);
		const { fence } = held;
		await this.scene.backend.leases.complete(held.id, { fence, ...(result === undefined ? undefined : { result }) });
		return held;
	}

	async fail(...keys: string[]): Promise<void> {
		for (const key of keys) {
			const { id, fence } = await this.take(key);
			await this.scene.backend.leases.fail(id, { fence, reason: "broken" });
		}
	}

	async addMember(given: string | (Partial<NodeRequest> & { key: string })) {
		const asked = node(given);
		const added = await this.scene.backend.flows.addMember(this.id, asked);
		this.nodes[asked.key] = added.executionId;
		this.revision = added.revision;
		return added;
	}

	async addEdge(line: string, more: Partial<EdgeRequest> = {}) {
		const request = { ...edge(line), expectedRevision: this.revision, ...more };
		const added = await this.scene.backend.flows.addEdge(this.id, request);
		this.revision = added.revision;
		return added;
	}

	async seal(): Promise<void> {
		this.revision = (await this.scene.backend.flows.seal(this.id)).revision;
	}

	/** The flow as it reads now: its counts must be those of its members, and its state must follow from them. */
	async look(): Promise<FlowView> {
		await this.scene.clock.settle();
		const view = await this.scene.backend.flows.get(this.id);
		const recount: Partial<Record<PublicState, number>> = {};
		for (const { publicState } of view.nodes) recount[publicState] = (recount[publicState] ?? 0) + 1;
		expect(view.counts).toEqual(recount);
		expect(view.nodes).toHaveLength(view.nodeCount);
		expect(view.edges).toHaveLength(view.edgeCount);
		if (view.endedAt === undefined) expect(view.state).toBe(stateBy(view));
		else expect(["completed", "failed", "cancelled"]).toContain(view.state);
		return view;
	}

	/** Public states of members by the keys of their nodes. */
	async states(): Promise<Record<string, PublicState>> {
		return Object.fromEntries((await this.look()).nodes.map(({ key, publicState }) => [key, publicState]));
	}

	/** The state of the flow as a whole. */
	async state(): Promise<FlowView["state"]> {
		return (await this.look()).state;
	}

	async eventTypes(): Promise<string[]> {
		return (await this.events()).map(({ type }) => type);
	}

	async events() {
		return (await this.scene.backend.flows.events(this.id, { limit: 1000 })).events;
	}
}

function stateBy({ counts, sealed }: FlowView): FlowView["state"] {
	const { completed, failed, cancelled, expired, skipped, ...open } = counts;
	if (open.active) return "running";
	if (open.waiting || !sealed) return "open";
	// When all have ended, how the flow has is being worked out.
	return Object.keys(open).length > 0 ? "blocked" : "running";
}

export async function flowOf(scene: Scene, given: DrawnFlow): Promise<FlowAtWork> {
	return new FlowAtWork(scene, await scene.backend.flows.create(drawn(given)));
}

/** An unsealed one of these nodes and edges. */
export const growing = (scene: Scene, nodes: readonly string[] = [], edges: readonly string[] = []) =>
	flowOf(scene, { nodes, edges, sealed: false });
