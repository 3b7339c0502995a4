import { type Readable, Transform } from "node:stream";
import type { FastifyReply, FastifyRequest, RequestPayload } from "fastify";
import { FlowFabricError } from "../contract/errors.ts";
import { tenantOf } from "./auth.ts";
import { onceLeft } from "./pending-call.ts";
import type { Place, Pool } from "./pools.ts";

/** Bodies over this size are taken a few at a time. */
export const LARGE_BODY = 4 * 1024 * 1024;

type Done = (error: Error | null, payload?: RequestPayload) => void;

interface Hooks {
	preParsing(request: FastifyRequest, reply: FastifyReply, payload: RequestPayload, done: Done): void;
	onSend(request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void;
}

/**
 * Lets only so many large bodies be here at once, from their first byte until there is an answer: each holds its size in
 * memory, and keeps the engine busy for long. One more is refused at once, as everywhere where there is a pool: whoever
 * waited here would hold a connection, and a slow sender would hold up those behind it. A body that is still arriving
 * makes room for a tenant that has less; one that is complete will soon be answered.
 */
export function holdLargeBodies(pool: Pool): Hooks {
	const places = new WeakMap<FastifyRequest, Place>();
	return {
		preParsing(request, reply, payload, done) {
			const said = request.headers["content-length"];
			if (said !== undefined && Number(said) <= LARGE_BODY) return done(null, payload);
			const take = () => {
				const place = pool.take(tenantOf(request));
				places.set(request, place);
				onceLeft(reply, () => place.give());
				return place;
			};
			try {
				const place = said === undefined ? undefined : take();
				done(null, held(payload as Readable, { reply, place, take }));
			} catch (error) {
				done(error as Error);
			}
		},
		onSend(request, _reply, _payload, done) {
			places.get(request)?.give();
			done(null, _payload as RequestPayload);
		},
	};
}

interface Holding {
	reply: FastifyReply;
	/** The place of a body that said how large it is. */
	place: Place | undefined;
	/** A body that did not say it takes its place when it turns out to be large. */
	take(): Place;
}

/** The body, for as long as nobody else needs its place more. */
function held(payload: Readable, { reply, place, take }: Holding): Readable {
	let received = 0;
	let own = place;
	const body = new Transform({
		transform(chunk: Buffer, _encoding, done) {
			received += chunk.length;
			try {
				if (!own && received > LARGE_BODY) own = mayYield(take());
				done(null, chunk);
			} catch (error) {
				payload.unpipe(body);
				done(error as Error);
			}
		},
		flush(done) {
			delete own?.makeRoom;
			done();
		},
	});
	const mayYield = (taken: Place): Place => {
		taken.makeRoom = () => {
			// What is left of it is not read.
			reply.header("connection", "close");
			payload.unpipe(body);
			body.destroy(othersNeedIt());
		};
		return taken;
	};
	if (own) mayYield(own);
	payload.once("error", (error) => body.destroy(error));
	return payload.pipe(body);
}

const othersNeedIt = (): FlowFabricError =>
	new FlowFabricError("too_many_requests", { message: "large_bodies: others need the place of this body" });
