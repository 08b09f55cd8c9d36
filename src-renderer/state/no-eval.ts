// The page's content policy lets no code come from text. Schemas must not even try: imported before any of them is made.
import { config } from 'zod'

config({ jitless: true })
