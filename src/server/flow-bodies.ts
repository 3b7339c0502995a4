import { FlowFabricError } from "../contract/errors.ts";
import { MAX_EDGES } from "../contract/flows.ts";
import { MAX_NODES } from "../kernel/flows/graph.ts";
import { BODY_LIMIT, notJson } from "./bodies.ts";
import { type BodyForm, type ItemPlace, ItemScanner } from "./item-scanner.ts";
import { parseItem } from "./joint-bodies.ts";

/** A step ends when one of these is reached, and others get their turn. */
const STEP_BYTES = 256 * 1024;
const STEP_ITEMS = 1000;

const FORM: BodyForm = {
	lists: {
		nodes: {
			most: MAX_NODES,
			refuse: () => new FlowFabricError("too_many_nodes", { details: { field: "nodes", max: MAX_NODES } }),
		},
		edges: { most: MAX_EDGES },
		groups: { most: MAX_NODES },
	},
	required: "nodes",
	mostRest: BODY_LIMIT,
};

/**
 * The flow that a body describes. A large one is parsed node by node and edge by edge, some at a time, so that others are
 * answered in between.
 */
export async function readFlow(body: unknown): Promise<unknown> {
	if (!Buffer.isBuffer(body)) return body;
	const { lists, rest } = await new ItemScanner(body, FORM).scan();
	const flow = parseRest(body, rest);
	for (const [name, places] of lists) flow[name] = await parseAll(body, name, places);
	return flow;
}

function parseRest(body: Buffer, places: readonly ItemPlace[]): Record<string, unknown> {
	const fields = places.map(({ start, end }) => body.toString("utf8", start, end));
	try {
		return JSON.parse(`{${fields.join(",")}}`) as Record<string, unknown>;
	} catch (error) {
		throw notJson("body", error);
	}
}

async function parseAll(body: Buffer, name: string, places: readonly ItemPlace[]): Promise<unknown[]> {
	const items: unknown[] = [];
	let begin = places[0]?.start ?? 0;
	for (const place of places) {
		items.push(parseItem(body, place, `${name}[${items.length}]`));
		if (place.end - begin < STEP_BYTES && items.length % STEP_ITEMS !== 0) continue;
		begin = place.end;
		await new Promise(setImmediate);
	}
	return items;
}
