import type { Store } from "../../src/store/port.ts";

/** Counts the commits that bring bytes of their own, as appended frames are, and not only records. */
export function countBlobCommits(store: Store): () => number {
	let commits = 0;
	const commit = store.commit.bind(store);
	store.commit = (partition, batch) => {
		if (batch.units.some(({ blobs }) => blobs.length > 0)) commits += 1;
		return commit(partition, batch);
	};
	return () => commits;
}
