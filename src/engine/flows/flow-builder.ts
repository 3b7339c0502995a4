import type { Clock } from "../../contract/clock.ts";
import type { CreateFlowRequest } from "../../contract/flows.ts";
import type { CreatedFlow } from "../../contract/replies.ts";
import type { Graph } from "../../kernel/flows/graph.ts";
import { isUnreachable } from "../../kernel/flows/groups.ts";
import { type FlowPart, planningFlow } from "../../kernel/flows/planning.ts";
import { makeId, slotOf } from "../../kernel/ids.ts";
import type { CommandOf } from "../../kernel/kernel.ts";
import { idempotencySubject } from "../../kernel/records/idempotency-key.ts";
import { inTurns, mapInSlices, mapInTurns, turn } from "../bounded.ts";
import { submissionAt } from "../calls/create-together.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { bodyHash, CanonicalText, canonicalJson } from "../payloads.ts";
import type { FlowReader } from "./flow-reader.ts";
import {
	checkedFlow,
	type FlowTerms,
	givenGroup,
	graphOf,
	type NodeOfFlow,
	nodeOfFlow,
	refuseTooManyNodes,
} from "./given-flow.ts";
import type { MemberKeys } from "./member-keys.ts";

/** How long to wait before looking again at a flow that another call is about to make. */
const LOOK_AGAIN_MS = 50;
/** Nodes whose names are looked up before others get their turn. */
const NAMES_AT_ONCE = 256;

/** Makes flows: checks all of one first, then writes it in as many steps as it takes. */
export class FlowBuilder {
	readonly #session: Session;
	readonly #reader: FlowReader;
	readonly #keys: MemberKeys;

	constructor(session: Session, reader: FlowReader, keys: MemberKeys) {
		this.#session = session;
		this.#reader = reader;
		this.#keys = keys;
	}

	async create(request: CreateFlowRequest): Promise<CreatedFlow> {
		const { engine, caller, retentionMs } = this.#session;
		const given = await checkedFlow(request, engine.clock);
		refuseTooManyNodes(given.nodes.length);
		const namespace = this.#session.namespaceFor(given.namespace);
		const context = submissionAt(this.#session);
		const { idempotencyKey } = given;
		const uuid = idempotencyKey ? engine.mint.next() : engine.mint.nextIn(context.partition, context.partitions);
		const slot = slotOf(idempotencyKey ? idempotencySubject(namespace, idempotencyKey) : uuid);
		const budgets = [...new Set(given.budgets ?? [])].sort();
		const terms = { namespace, budgets };
		// Only by a key, or to a flow that can grow, is anything given twice.
		const isSealed = given.sealed ?? true;
		const members = { ...context, slot, wantsHash: !isSealed || Boolean(idempotencyKey) };
		const nodes = await mapInSlices(given.nodes, engine.clock, async (node, n) =>
			nodeOfFlow(node, terms, members, `nodes[${n}]`),
		);
		const graph = await graphOf(nodes, given, engine.clock);
		await this.#checkNames(terms, nodes, slot);
		const command: CommandOf<"createFlow"> = {
			op: "createFlow",
			flowId: makeId("fl", uuid, slot),
			kind: given.kind ?? "",
			namespace,
			retentionMs: given.retentionMs ?? retentionMs,
			createdBy: given.createdBy ?? caller.actor,
			nodes: nodes.length,
			edges: graph.edges.length,
			isSealed,
			unreachable: graph.groups.filter(isUnreachable).length,
			actor: caller.actor,
		};
		if (given.tags && Object.keys(given.tags).length > 0) command.tags = { ...given.tags };
		if (budgets.length > 0) command.budgets = budgets;
		if (idempotencyKey) {
			command.idempotencyKey = idempotencyKey;
			command.bodyHash = await hashOf(given, nodes, command, engine.clock);
		}
		const edgeIds = await mapInTurns(graph.edges, engine.clock, () => makeId("ed", engine.mint.next(), slot));
		// Nothing is added by key to what is sealed.
		const planned = isSealed ? nodes.map(({ bodyHash: _, ...node }) => node) : nodes;
		const parts = await inTurns(planningFlow(planned, graph, edgeIds), engine.clock);
		return this.#write(command, parts, nodes, graph);
	}

	async #checkNames(terms: FlowTerms, nodes: readonly NodeOfFlow[], slot: number): Promise<void> {
		const { nameLimits, guards, runners, clock } = this.#session.engine;
		await guards.directory.check(terms);
		for (const [n, { work }] of nodes.entries()) {
			if (n > 0 && n % NAMES_AT_ONCE === 0) await turn(clock);
			await guards.directory.check(work);
			nameLimits.check(slot % runners.length, work);
		}
	}

	async #write(
		command: CommandOf<"createFlow">,
		parts: readonly FlowPart[],
		nodes: readonly NodeOfFlow[],
		graph: Graph,
	): Promise<CreatedFlow> {
		const runner = this.#session.engine.runnerOfFlow(command.flowId);
		const [whole] = parts;
		const keyed = nodes.filter(({ work }) => work.idempotencyKey);
		// Keys are held for what is there, if only for whoever makes it.
		if (parts.length <= 1 && keyed.length === 0) command.whole = whole ?? { members: [], links: [] };
		for (;;) {
			const outcome = await this.#session.runOn(runner, "createFlow", command);
			const { id, revision, created, building, holder } = outcome;
			if (holder) {
				const { namespace, idempotencyKey = "" } = command;
				await this.#keys.freeIfGone({ namespace, idempotencyKey, holder });
				continue;
			}
			if (created) {
				if (building) await this.#build(runner, command, parts, keyed);
				const ids = graph.order.map((n) => nodes[n]).map((node) => [node?.key ?? "", node?.work.executionId ?? ""]);
				return { id, revision, nodes: Object.fromEntries(ids) as Record<string, string>, created: true };
			}
			if (!building) return this.#earlier(id);
			const { clock } = this.#session.engine;
			await new Promise<void>((resolve) => clock.setTimer(LOOK_AGAIN_MS, resolve));
		}
	}

	/** Writes it part by part, then lets it be seen; what cannot be finished is given up. */
	async #build(
		runner: PartitionRunner,
		{ flowId, actor }: CommandOf<"createFlow">,
		parts: readonly FlowPart[],
		keyed: readonly NodeOfFlow[],
	): Promise<void> {
		try {
			await this.#keys.hold(flowId, keyed);
			for (const [n, part] of parts.entries())
				await this.#session.runOn(runner, "buildFlow", {
					op: "buildFlow",
					flowId,
					part,
					isLast: n === parts.length - 1,
					actor,
				});
		} catch (error) {
			await this.#giveUp(runner, flowId, actor, keyed);
			throw error;
		}
		for (;;) {
			const { unshown } = await this.#session.runOn(runner, "showFlow", { op: "showFlow", flowId, actor });
			if (unshown === 0) return;
		}
	}

	/** If it cannot be given up, its time will be over before long, and its keys are freed by whoever comes upon them. */
	async #giveUp(runner: PartitionRunner, flowId: string, actor: string, keyed: readonly NodeOfFlow[]): Promise<void> {
		try {
			const { isGone } = await this.#session.runOn(runner, "dropFlow", { op: "dropFlow", flowId, actor });
			// Keys of members that are there stay theirs.
			if (isGone) await this.#keys.free(keyed);
		} catch {
			// The error that it is given up for says more.
		}
	}

	/** What the first call under the same key made. */
	async #earlier(id: string): Promise<CreatedFlow> {
		const flow = await this.#reader.read(id);
		const members = await this.#reader.members(flow);
		const nodes = Object.fromEntries(members.map(({ key, executionId }) => [key, executionId]));
		return { id, revision: flow.revision, nodes, created: false };
	}
}

/** The hash of everything a call says but its key. What counts is what it means: a default says the same as nothing. */
async function hashOf(
	{ retentionMs, createdBy, edges = [], groups = [] }: CreateFlowRequest,
	nodes: readonly NodeOfFlow[],
	{ kind, namespace, tags, budgets, isSealed, actor }: CommandOf<"createFlow">,
	clock: Clock,
): Promise<string> {
	const body = {
		kind,
		namespace,
		tags,
		budgets,
		retentionMs,
		createdBy: createdBy === actor ? undefined : createdBy,
		sealed: isSealed,
		nodes: await canonicalList(nodes, clock, ({ key, bodyHash: hash, work }) => ({
			key,
			hash,
			idempotencyKey: work.idempotencyKey,
		})),
		edges: await canonicalList(edges, clock, (edge) => ({ ...edge, on: edge.on ?? "success" })),
		groups: groups
			.map(({ node, ...group }) => ({ node, ...givenGroup(group) }))
			.filter(({ policy, cancelsRemaining }) => policy !== "all_of" || cancelsRemaining),
	};
	return bodyHash(body, undefined);
}

/** A long list as it stands in what is hashed, written some items at a time. */
async function canonicalList<T>(items: readonly T[], clock: Clock, one: (item: T) => object): Promise<CanonicalText> {
	const texts = await mapInTurns(items, clock, (item) => canonicalJson(one(item)));
	return new CanonicalText(`[${texts.join(",")}]`);
}
