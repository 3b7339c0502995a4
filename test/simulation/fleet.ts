import type { Stage } from "./stage.ts";
import { ALL_CAPABILITIES, asTenant, CAPABILITIES, KINDS, LANES, type Tenant } from "./tenants.ts";

/** What a worker offers. */
export interface OfferedWork {
	capabilities: string[];
	kinds?: string[];
	lanes: string[];
}

/** A worker instance, there or away. */
interface Member {
	tenant: Tenant;
	instanceId: string;
	offer: OfferedWork;
	ttlMs: number;
	/** Which of its lives this is; a heart that beats for an earlier one stops. */
	life: number;
	there: boolean;
}

const SIZE = 3;

/** Workers that register, are heard of until they are not, and come back offering something else. */
export class Fleet {
	readonly #stage: Stage;
	readonly #members = new Map<string, Member>();

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	/** One of them does something. */
	act(): void {
		const { random } = this.#stage;
		const tenant = this.#stage.someTenant();
		const instanceId = `w${random.integer(1, SIZE)}`;
		const known = this.#members.get(nameOf(tenant, instanceId));
		if (!known?.there) return this.#arrive(tenant, instanceId, known);
		switch (random.weighted({ change: 2, vanish: 4, remove: 2 })) {
			case "change":
				known.offer = this.#someOffer();
				return this.#register(known, known.life);
			case "vanish":
				known.there = false;
				return this.#stage.note("worker vanished");
			case "remove":
				known.there = false;
				this.#stage.call(
					(backend) => asTenant(backend, tenant).workers.remove(instanceId),
					() => this.#stage.note("worker removed"),
				);
				return;
		}
	}

	/** One of a tenant's that are there. */
	someone(tenant: Tenant): { instanceId: string; offer: OfferedWork } | undefined {
		const there = [...this.#members.values()].filter((member) => member.there && member.tenant === tenant);
		return there.length > 0 ? this.#stage.random.pick(there) : undefined;
	}

	/** All vanish. */
	dismiss(): void {
		for (const member of this.#members.values()) member.there = false;
	}

	#arrive(tenant: Tenant, instanceId: string, known: Member | undefined): void {
		const { random } = this.#stage;
		const life = (known?.life ?? 0) + 1;
		const offer = this.#someOffer();
		const member: Member = { tenant, instanceId, offer, ttlMs: random.integer(1000, 6000), life, there: true };
		this.#members.set(nameOf(tenant, instanceId), member);
		this.#stage.note(known ? "worker returned" : "worker came");
		this.#register(member, life);
		this.#beat(member, life);
	}

	#beat(member: Member, life: number): void {
		this.#stage.world.after(member.ttlMs / 2, () => {
			if (!member.there || member.life !== life) return;
			this.#register(member, life);
			this.#beat(member, life);
		});
	}

	#register(member: Member, life: number): void {
		if (!member.there || member.life !== life) return;
		const { tenant, instanceId, offer, ttlMs } = member;
		const request = { workerId: tenant, ...offer, ttlMs };
		this.#stage.checker.workers.offers(tenant, offer.capabilities);
		this.#stage.call(
			(backend) => asTenant(backend, tenant).workers.register(instanceId, request),
			() => {},
		);
	}

	#someOffer(): OfferedWork {
		const { random } = this.#stage;
		const capabilities = random.chance(0.2) ? ALL_CAPABILITIES : CAPABILITIES.filter(() => random.chance(0.4));
		return {
			capabilities,
			...(random.chance(0.4) ? { kinds: [random.pick(KINDS)] } : undefined),
			lanes: random.chance(0.5) ? LANES : [random.pick(LANES)],
		};
	}
}

const nameOf = (tenant: Tenant, instanceId: string): string => `${tenant} ${instanceId}`;

/** Offers that together cover all there can be, in one of several ways. */
export function crew({ random }: Stage): OfferedWork[] {
	const all = { capabilities: ALL_CAPABILITIES, lanes: LANES };
	switch (random.pick(["one", "kinds", "lanes"])) {
		case "kinds":
			return KINDS.map((kind) => ({ ...all, kinds: [kind] }));
		case "lanes":
			return LANES.map((lane) => ({ ...all, lanes: [lane] }));
		default:
			return [all];
	}
}
