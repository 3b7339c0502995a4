import type { CreateFlowRequest } from "../../src/contract/flows.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Random } from "./random.ts";
import { type RandomEdge, type RandomGraph, someGraph } from "./random-graphs.ts";
import type { Stage } from "./stage.ts";
import { asTenant, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** What is yet to be said about a flow that is built step by step. */
type Step =
	| { kind: "member"; node: RandomGraph["nodes"][number] }
	| { kind: "edge"; edge: RandomEdge }
	| { kind: "group"; group: RandomGraph["groups"][number] }
	| { kind: "seal" };

interface GrowingFlow {
	id: string;
	tenant: Tenant;
	revision: number;
	steps: Step[];
	isAsking: boolean;
}

const edgeName = ({ from, to, on = "success", passResultAs = "" }: RandomEdge) => `${from} ${to} ${on} ${passResultAs}`;

/** Those who make flows: in one call, said once or again, or step by step while members already run. */
export class FlowMakers {
	readonly #stage: Stage;
	readonly known: string[] = [];
	readonly #growing = new Set<GrowingFlow>();
	/** Edges that somebody was told are there, by flow. */
	readonly #told = new Map<string, Set<string>>();

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	create(): void {
		const { random } = this.#stage;
		const tenant = this.#stage.someTenant();
		const graph = someGraph(random);
		const { nodes, edges, groups } = graph;
		const isWhole = random.chance(0.6);
		// The first part may come with the flow, and the rest one by one.
		const first = isWhole ? nodes.length : random.integer(0, Math.floor(nodes.length / 2));
		const isFirst = (key: string) => nodes.findIndex((node) => node.key === key) < first;
		const request: CreateFlowRequest = {
			kind: "dag",
			nodes: nodes.slice(0, first),
			edges: edges.filter(({ to }) => isFirst(to)),
			groups: groups.filter(({ node }) => isFirst(node)),
			...(isWhole && random.chance(0.8) ? undefined : { sealed: false }),
			...(random.chance(0.2) ? { retentionMs: 2000 } : undefined),
			...(random.chance(0.6) ? { idempotencyKey: `flow-${this.#stage.count()}` } : undefined),
		};
		const repeats = request.idempotencyKey === undefined ? 0 : random.integer(0, 2);
		this.#send(tenant, request, graph, first, { id: undefined }, repeats);
	}

	#send(
		tenant: Tenant,
		request: CreateFlowRequest,
		graph: RandomGraph,
		first: number,
		made: { id: string | undefined },
		repeats: number,
	): void {
		const { random, world } = this.#stage;
		this.#stage.call(
			(backend) => asTenant(backend, tenant).flows.create(request),
			(heard) => {
				if (heard.kind === "refused") throw new Violation(`a flow was refused: ${heard.code}`);
				if (heard.kind !== "ok") return;
				const { id, revision } = heard.value;
				// A key is free again once its flow is gone.
				const isThere = made.id !== undefined && this.#stage.checker.flows.all.get(made.id)?.flow?.removing === false;
				if (isThere && made.id !== id) throw new Violation(`${request.idempotencyKey}: ${made.id} and ${id}`);
				if (made.id !== undefined) return;
				made.id = id;
				this.known.push(id);
				this.#told.set(id, new Set((request.edges ?? []).map(edgeName)));
				if (request.sealed === false)
					this.#growing.add({ id, tenant, revision, steps: stepsOf(graph, first, random), isAsking: false });
			},
		);
		if (repeats === 0) return;
		const again = () => this.#send(tenant, request, graph, first, made, repeats - 1);
		world.after(random.pick([0, 20, 400, 1500]), again);
	}

	/** Somebody says the next thing about a flow that is being built. */
	grow(): void {
		const idle = [...this.#growing].filter(({ isAsking }) => !isAsking);
		if (idle.length > 0) this.#ask(this.#stage.random.pick(idle));
	}

	/** In calm: everybody does. */
	growAll(): void {
		for (const flow of this.#growing) if (!flow.isAsking) this.#ask(flow);
	}

	get isDone(): boolean {
		return this.#growing.size === 0;
	}

	/** In calm: flows that were made without anybody hearing of it are finished by somebody else. */
	adopt(id: string, tenant: Tenant): void {
		if ([...this.#growing].some((flow) => flow.id === id)) return;
		this.#growing.add({ id, tenant, revision: 0, steps: [{ kind: "seal" }], isAsking: false });
	}

	#ask(flow: GrowingFlow): void {
		const [step] = flow.steps;
		if (!step) return void this.#growing.delete(flow);
		flow.isAsking = this.#stage.call(
			(backend) => this.#say(backend, flow, step),
			(heard) => {
				flow.isAsking = false;
				if (heard.kind === "unknown") return;
				if (heard.kind === "ok") {
					flow.revision = heard.value.revision;
					if (step.kind === "edge") this.#told.get(flow.id)?.add(edgeName(step.edge));
					this.#stage.note(`flows grown by a ${step.kind}`);
					flow.steps.shift();
					if (this.#stage.random.chance(0.7)) this.#ask(flow);
				} else this.#refused(flow, step, heard.code);
			},
		);
	}

	#say(backend: LocalBackend, { id, tenant, revision }: GrowingFlow, step: Step): Promise<{ revision: number }> {
		const { flows } = asTenant(backend, tenant);
		switch (step.kind) {
			case "member":
				return flows.addMember(id, step.node);
			case "edge":
				return flows.addEdge(id, { ...step.edge, expectedRevision: revision });
			case "group": {
				const { node, ...group } = step.group;
				return flows.setGroup(id, node, group);
			}
			case "seal":
				return flows.seal(id);
		}
	}

	#refused(flow: GrowingFlow, step: Step, code: string): void {
		this.#stage.note(`steps refused: ${code}`);
		switch (code) {
			case "stale_graph_revision":
				return this.#catchUp(flow);
			// An upstream or downstream came too late, or not at all.
			case "node_already_started":
			case "unknown_node":
				flow.steps.shift();
				return;
			// What such a group wanted was refused; nobody will ever run it.
			case "quorum_unreachable":
				flow.steps.shift();
				return this.#giveUp(flow);
			case "flow_sealed":
				// By somebody who did not know of its maker.
				if (!this.#stage.calm) throw new Violation(`${flow.id} is sealed, and nobody did that`);
				this.#growing.delete(flow);
				return;
			case "flow_cancelled":
			case "flow_not_found":
			case "flow_already_terminal":
				this.#growing.delete(flow);
				return;
			default:
				throw new Violation(`${flow.id}: ${JSON.stringify(step)} was refused: ${code}`);
		}
	}

	#catchUp(flow: GrowingFlow): void {
		flow.isAsking = this.#stage.call(
			(backend) => asTenant(backend, flow.tenant).flows.get(flow.id),
			(heard) => {
				flow.isAsking = false;
				if (heard.kind === "ok") flow.revision = heard.value.revision;
			},
		);
	}

	#giveUp({ id, tenant }: GrowingFlow): void {
		this.#stage.call(
			(backend) => asTenant(backend, tenant).flows.cancel(id, { policy: "cancel_all", mode: "force" }),
			(heard) => {
				if (heard.kind !== "unknown") return;
				this.#stage.world.after(100, () => this.#giveUp({ id, tenant } as GrowingFlow));
			},
		);
	}

	/** Every edge that somebody was told of is there, and no other. */
	checkGraphs(): void {
		for (const [id, told] of this.#told) {
			const { flow, edges, members } = this.#stage.checker.flows.all.get(id) ?? {};
			if (!flow || !edges || !members) continue;
			const keyOf = (member: string) => members.get(member)?.key ?? "";
			const there = new Set(
				[...edges.values()].map((edge) => edgeName({ ...edge, from: keyOf(edge.from), to: keyOf(edge.to) })),
			);
			for (const name of told)
				if (!there.has(name)) throw new Violation(`${id}: edge ${name} was acknowledged and is lost`);
		}
	}
}

/**
 * Nodes one by one, each with its edges and its group. A group may come before the edges, so that the node waits for these, or
 * when some of them are satisfied. Most nodes that wait for something have a delay, else they would run before it is said.
 */
function stepsOf({ nodes, edges, groups }: RandomGraph, first: number, random: Random): Step[] {
	const steps: Step[] = nodes.slice(first).flatMap((node): Step[] => {
		const own = groups.filter((group) => group.node === node.key).map((group): Step => ({ kind: "group", group }));
		const into = edges.filter(({ to }) => to === node.key).map((edge): Step => ({ kind: "edge", edge }));
		const isPutOff = into.length > 0 && random.chance(0.8);
		return [
			{ kind: "member", node: isPutOff ? { ...node, delayMs: random.integer(500, 2000) } : node },
			...(random.chance(0.5) ? [...own, ...into] : [...into, ...own]),
		];
	});
	return [...steps, { kind: "seal" }];
}
