// The words of the built-in prompts. The classes share no word: the class of a word tells which slot of a program it
// fills, so a small model can learn to copy it. Every word is one capital followed by small letters, which the
// tokenizer keeps apart from the punctuation around it (see demo-tokenizer.ts).

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/)
}

/** Headings, alone or after an adjective. */
export const titles = words(`
  Apples Pears Plums Grapes Lemons Melons Berries Figs Olives Carrots Onions Beans Peas Corn Pumpkins
  Birds Cats Dogs Horses Rabbits Turtles Whales Foxes Bees Frogs Owls Ducks Goats Lions Bears
  Books Pages Notes Letters Stamps Coins Cards Tickets Maps Photos Songs Movies Games Puzzles Stories
  Steps Laps Goals Points Wins Tasks Chores Visits Calls Votes Likes Jumps Pushups Naps Breaths
  Rocket Kitchen Garden Office Library Museum Market Bakery Station Harbor Airport Village Castle Forest Mountain
  Weather Calendar Budget Journal Planner Recipes Workout Travel Shopping Homework Music Dinner Lunch Breakfast Picnic
  Profile Account Contact Settings Signup Feedback Support Survey Booking Invoice Orders Report Summary Gallery Archive
  Lamp Radio Window Door Heater Engine Camera Printer Robot Alarm Timer Clock Fan Screen Speaker
  Party Birthday Wedding Holiday Reunion Concert Festival Parade Contest Match Lesson Meeting Lecture Workshop Rehearsal
  River Ocean Desert Island Valley Meadow Planet Comet Galaxy Sunset Rainbow Thunder Winter Summer Autumn
`)

/** Optional first word of a heading. */
export const adjectives = words(`
  Red Blue Green Golden Silver Tiny Giant Happy Daily Weekly Modern Quiet Sunny Fresh Magic Royal
`)

/** Button names. */
export const verbs = words(`
  Add Save Send Open Start Stop Next Submit Join Buy Pay Share Follow Press Click Tap Poke Pull Tally Launch
  Switch Flip Change Turn Reveal Unlock Uncover Peek Discover Search Find Check Approve Confirm Accept Apply Login
  Register Reserve Elect Rate Collect Pick Gather Drop Throw Catch Move Hop Run Walk Pet Water Paint Mix Boil
  Fry Fix Carve Load
`)

/** Things in lists, tabs and secrets. */
export const items = words(`
  Milk Bread Butter Cheese Eggs Sugar Salt Pepper Flour Rice Pasta Honey Coffee Tea Juice Cocoa Soup Salad Cake Cookies
  Socks Shoes Shirt Jacket Hat Gloves Scarf Belt Boots Towel Pillow Blanket Candle Mirror Basket Bottle Glass Plate Spoon Fork
  Hammer Nails Screws Ladder Rope Paper Pencil Eraser Ruler Scissors Glue Brush Bucket Broom Sponge Soap Shampoo Comb Razor Mop
  Guitar Piano Violin Drum Flute Trumpet Ball Racket Bicycle Helmet Skates Kite Tent Compass Lantern Backpack Globe Whistle Torch Canoe
  Sofa Desk Chair Shelf Carpet Curtain Vase Wallet Keys Phone Charger Laptop Tablet Keyboard Mouse Cable Battery Magnet Lens Tripod
  Tulip Rose Daisy Fern Cactus Moss Ivy Maple Willow Cedar Pearl Ruby Opal Amber Jade Crown Ring Medal Trophy Treasure
`)

/** Labels of text fields. */
export const labels = words(`
  Name Email Zipcode Region City Country Street Age Subject Message Comment Nickname Company Password Username
  Website Hobby School Color Group Language Topic Amount Occupation
`)

/** What something is now or becomes. */
export const states = words(`
  Asleep Awake Closed Ready Empty Full Locked Free Hidden Visible Cold Warm Dark Bright Muted Loud Paused Playing
  Offline Online Dirty Clean Broken Repaired Waiting Done Sad Glad Slow Fast
`)

/** What a card or a thankful button says. */
export const greetings = words(`
  Hello Welcome Thanks Congrats Cheers Bravo Hooray Goodbye Sorry Greetings Howdy Aloha
`)

/** Whom a card is for. */
export const names = words(`
  Anna Ben Clara David Emma Felix Grace Henry Iris Jonas Karin Leo Maria Noah Oscar Paula Quinn Rosa Simon Tara
`)

/** Two ends of a scale, in the order low, high. */
export const ratings: readonly (readonly [string, string])[] = [
  ['Bad', 'Great'], ['Poor', 'Excellent'], ['Awful', 'Amazing'], ['Boring', 'Exciting'], ['Weak', 'Strong'], ['Low', 'High'],
]

/** Every class by name; `ratings` flattened. */
export const wordClasses: Readonly<Record<string, readonly string[]>> = {
  titles, adjectives, verbs, items, labels, states, greetings, names, ratings: ratings.flat(),
}
