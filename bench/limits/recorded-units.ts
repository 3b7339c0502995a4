import type { Store, Unit } from "../../src/store/port.ts";

/** Keeps every unit that is applied on its way through a store, so that a limit can be measured on the same writes. */
export function recordUnits(store: Store): { units: Unit[]; recordsPerCommit: () => number; stop: () => void } {
	const units: Unit[] = [];
	let commits = 0;
	const original = store.commit;
	store.commit = async (partition, batch) => {
		const reply = await original.call(store, partition, batch);
		commits += 1;
		reply.results.forEach((result, n) => {
			const unit = batch.units[n];
			if (result.ok && unit) units.push(unit);
		});
		return reply;
	};
	return {
		units,
		recordsPerCommit: () => units.reduce((sum, { put, removed }) => sum + put.length + removed.length, 0) / commits,
		stop: () => {
			store.commit = original;
		},
	};
}
