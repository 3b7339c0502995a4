import type { TSchema } from "./schema.ts";

/**
 * How long lists and how wide objects may be, read off a schema. A validator looks at every item before it looks at the
 * length, and at every field before it finds one it does not know; so this is asked first. What it costs follows the
 * schema, never the value.
 */

/** What is too long or too wide, and where; the path of a value that is itself so is empty. */
export interface Excess {
	path: string[];
	problem: string;
}

type Bound = (value: unknown) => Excess | undefined;

/** What is read of a node of a schema. */
interface Node {
	allowed?: string;
	maxItems?: number;
	items?: Node;
	properties?: Record<string, Node>;
	additionalProperties?: unknown;
	maxProperties?: number;
	anyOf?: Node[];
}

/** Says what of a value exceeds its schema, if anything does; undefined for a schema in which nothing can. */
export function boundOf(schema: TSchema): Bound | undefined {
	return boundOfNode(schema as Node);
}

function boundOfNode(node: Node): Bound | undefined {
	if (node.anyOf) return boundOfUnion(node.anyOf);
	if (node.maxItems !== undefined) return boundOfArray(node, node.maxItems);
	if (node.properties) return boundOfObject(node, node.properties);
	return node.maxProperties === undefined ? undefined : boundOfRecord(node, node.maxProperties);
}

/** Exceeded is what exceeds every branch. */
function boundOfUnion(branches: readonly Node[]): Bound | undefined {
	const bounds: Bound[] = [];
	for (const branch of branches) {
		const bound = boundOfNode(branch);
		if (!bound) return undefined;
		bounds.push(bound);
	}
	return (value) => {
		let excess: Excess | undefined;
		for (const bound of bounds) if (!(excess = bound(value))) return undefined;
		return excess;
	};
}

function boundOfArray(node: Node, most: number): Bound {
	const ofItem = node.items && boundOfNode(node.items);
	return (value) => {
		if (!Array.isArray(value)) return undefined;
		const { length } = value;
		if (length > most)
			return { path: [], problem: `${node.allowed ?? `must have at most ${most} items`}, got an array of ${length}` };
		if (!ofItem) return undefined;
		for (let n = 0; n < length; n++) {
			const excess = ofItem(value[n]);
			if (excess) return within(String(n), excess);
		}
		return undefined;
	};
}

function boundOfObject(node: Node, properties: Record<string, Node>): Bound | undefined {
	const inner: [name: string, bound: Bound][] = [];
	for (const [name, property] of Object.entries(properties)) {
		const bound = boundOfNode(property);
		if (bound) inner.push([name, bound]);
	}
	const known = node.additionalProperties === false ? new Set(Object.keys(properties)) : undefined;
	if (!known && inner.length === 0) return undefined;
	return (value) => {
		if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
		if (known && isWiderThan(value, known.size)) {
			const unknown = Object.keys(value).find((name) => !known.has(name));
			if (unknown !== undefined) return { path: [unknown], problem: "is not a known field" };
		}
		for (const [name, bound] of inner) {
			const excess = Object.hasOwn(value, name) ? bound((value as Record<string, unknown>)[name]) : undefined;
			if (excess) return within(name, excess);
		}
		return undefined;
	};
}

function boundOfRecord(node: Node, most: number): Bound {
	return (value) => {
		if (typeof value !== "object" || value === null || !isWiderThan(value, most)) return undefined;
		const count = Object.keys(value).length;
		if (count <= most) return undefined;
		return { path: [], problem: `${node.allowed ?? `must have at most ${most} fields`}, got ${count}` };
	};
}

/** Counts what may be inherited too, so a yes is to be looked at again. Nothing is made for an object of few fields. */
function isWiderThan(value: object, most: number): boolean {
	let count = 0;
	for (const _ in value) if (++count > most) return true;
	return false;
}

const within = (part: string, { path, problem }: Excess): Excess => ({ path: [part, ...path], problem });
