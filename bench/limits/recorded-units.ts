import type { Store, Unit } from "../../src/store/port.ts";

/** Keeps every unit that is applied on its way through a store, so that a limit can be measured on the same writes. */
export function recordUnits(store: Store): { units: Unit[]; stop: () => void } {
	const units: Unit[] = [];
	const original = store.commit;
	store.commit = async (partition, batch) => {
		const reply = await original.call(store, partition, batch);
		reply.results.forEach((result, n) => {
			const unit = batch.units[n];
			if (result.ok && unit) units.push(unit);
		});
		return reply;
	};
	return {
		units,
		stop: () => {
			store.commit = original;
		},
	};
}
