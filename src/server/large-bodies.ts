import { type Readable, Transform } from "node:stream";
import type { FastifyReply, FastifyRequest, RequestPayload } from "fastify";
import { tenantOf } from "./auth.ts";
import type { Pool } from "./pools.ts";

/** Bodies over this size are taken a few at a time. */
export const LARGE_BODY = 4 * 1024 * 1024;

type Hook = (
	request: FastifyRequest,
	reply: FastifyReply,
	payload: RequestPayload,
	done: (error: Error | null, payload?: RequestPayload) => void,
) => void;

/**
 * Lets only so many large bodies be here at once, from their first byte until they are answered: each holds its size in
 * memory, and keeps the engine busy for long. One more is refused at once, as everywhere where there is a pool: whoever
 * waited here would hold a connection, and a slow sender would hold up those behind it.
 */
export function holdLargeBodies(pool: Pool): Hook {
	return (request, reply, payload, done) => {
		const take = () => {
			const place = pool.take(tenantOf(request));
			reply.raw.once("close", () => place.give());
		};
		const said = request.headers["content-length"];
		try {
			if (said === undefined) return done(null, counted(payload as Readable, take));
			if (Number(said) > LARGE_BODY) take();
			done(null, payload);
		} catch (error) {
			done(error as Error);
		}
	};
}

/** A body that does not say how large it is takes its place when it turns out to be large. */
function counted(payload: Readable, take: () => void): Readable {
	let received = 0;
	let taken = false;
	const counting = new Transform({
		transform(chunk: Buffer, _encoding, done) {
			received += chunk.length;
			try {
				if (!taken && received > LARGE_BODY) {
					take();
					taken = true;
				}
				done(null, chunk);
			} catch (error) {
				payload.unpipe(counting);
				done(error as Error);
			}
		},
	});
	payload.once("error", (error) => counting.destroy(error));
	return payload.pipe(counting);
}
