export const MODULUS = 1_000_003;

/** Each node waits for up to three of the layer before. */
export function layeredFlow(layers, width) {
	const key = (layer, place) => `${layer}.${place}`;
	const nodes = [];
	const edges = [];
	for (let layer = 0; layer < layers; layer++)
		for (let place = 0; place < width; place++) {
			const node = key(layer, place);
			nodes.push({ key: node, kind: "node", input: node });
			if (layer === 0) continue;
			for (const from of new Set([place, (place * 7 + layer) % width, (place * 13 + 5) % width]))
				edges.push({ from: key(layer - 1, from), to: node, passResultAs: `p${from}` });
		}
	return { nodes, edges };
}

/** What the node at the end of each line of places gives. */
export function expectedResults({ nodes, edges }) {
	const upstreams = new Map(nodes.map(({ key }) => [key, []]));
	for (const { from, to } of edges) upstreams.get(to).push(from);
	const results = new Map();
	for (const { key } of nodes)
		results.set(
			key,
			upstreams.get(key).reduce((sum, from) => (sum + results.get(from)) % MODULUS, 1),
		);
	return results;
}
